#!/usr/bin/env bash
# A process that finds its kernel on the disk loads neither LLVM nor the assembler. Usage: disk-hit.sh PROGRAM
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
run() {
  TESSERA_CACHE=rw TESSERA_CACHE_DIR=$folder/cache LD_DEBUG=files LD_DEBUG_OUTPUT=$folder/$1 "$program" \
    run --device sim:a100 --head-dim 64 --seqlen-q 16 --json >"$folder/$1.json"
}
program=$1
run compiles
grep -q '"source": "compiler"' "$folder/compiles.json"
grep -q libLLVM "$folder"/compiles.[0-9]* || { echo "the first process was to load LLVM"; exit 1; }
run reads
grep -q '"source": "disk"' "$folder/reads.json" || { echo "the second process did not read from the disk"; exit 1; }
if grep -E 'libLLVM|libMLIR|nvJitLink|libtessera-compiler' "$folder"/reads.[0-9]*; then
  echo "the second process loaded the compiler"
  exit 1
fi
