#!/usr/bin/env bash
# Packs what a machine with a GPU needs to run Tessera's kernels and to tune them, and nothing it does not: no compiler, no toolkit, no Debian package.
set -euo pipefail

usage() {
  cat <<'HELP'
usage: tests/device/pack.sh BUILD TARGET FOLDER [CANDIDATES]

Puts into FOLDER the program with its libraries (but the C library and the GPU driver), a bundle of CANDIDATES schedules (default 24) for
each attention of tests/device/specs.json compiled for TARGET (sm_90, say), the list itself, and run.sh, which uses them:

  tests/device/pack.sh build sm_90 pack && scp -r pack host: && ssh host pack/run.sh cuda:0 results
HELP
}

case ${1:-} in -h | --help) usage; exit 0 ;; esac
[ $# -ge 3 ] && [ $# -le 4 ] || { usage >&2; exit 2; }
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
build=$(realpath "$1") target=$2 folder=$3 candidates=${4:-24}

mkdir -p "$folder/bin" "$folder/lib"
cp "$build/bin/tessera" "$folder/bin/"
cp "$build/lib/libtessera.so.0" "$build/lib/libtessera-sim.so" "$folder/lib/"
# What they are linked with, as far as a bare machine lacks it.
ldd "$folder/bin/tessera" "$build/lib/libtessera-sim.so" | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
  grep -vE '/(libc|libm|libdl|libpthread|librt|ld-linux-x86-64)\.so|/libtessera' | xargs -r cp -L -t "$folder/lib/"
cp "$here/specs.json" "$here/run.sh" "$folder/"
"$build/bin/tessera" bundle build --quiet --specs "$here/specs.json" --targets "$target" --candidates "$candidates" -o "$folder/candidates.tsb" >"$folder/candidates.txt"
du -sh "$folder" | cut -f1
