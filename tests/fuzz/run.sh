#!/usr/bin/env bash
# Builds the fuzzers and runs each on its corpus for a while, as many at once as there are processors. Exits 0 if nothing was found.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
. tests/house/setup.sh

usage() {
  cat <<'HELP'
usage: tests/fuzz/run.sh [SECONDS] [FUZZER...]

Builds the fuzzers with libFuzzer and the address and undefined-behaviour sanitizers, in the folder fuzz of the build folder, and runs
all of them or those named, each for SECONDS (default 60), from the corpus in tests/fuzz/corpus:

  ptx          PTX for the simulator, which is launched where it loads
  driver       calls of the driver API on the simulator
  image        kernel images
  bundle       bundles: opened, verified, reworked, searched for kernels
  npy          .npy files
  safetensors  .safetensors files
  specs        lists of attentions, tuning records, canonical texts, keys, sizes
  trials       tuning logs

New inputs that reach more code are kept in build/fuzz/corpus and taken up by the next run; an input that fails lies in
build/fuzz/found, and

  build/fuzz/bin/ptx-fuzzer build/fuzz/found/FILE

runs it alone; with TESSERA_FUZZ_TRACE=1 ptx-fuzzer and driver-fuzzer tell what it does. Once mended it belongs into
tests/fuzz/corpus as a small file with a name.

  TESSERA_BUILD=DIR   build in DIR/fuzz instead of build/fuzz
  TESSERA_FUZZ_SEED=N start from this seed instead of a random one
HELP
}

all=(ptx driver image bundle npy safetensors specs trials)
seconds=60
fuzzers=()
for argument in "$@"; do
  case $argument in
  -h | --help) usage; exit 0 ;;
  '') printf 'run.sh: an empty argument\n\n' >&2; usage >&2; exit 2 ;;
  *[!0-9]*)
    [[ " ${all[*]} " == *" $argument "* ]] || { printf 'run.sh: unknown argument %s\n\n' "$argument" >&2; usage >&2; exit 2; }
    fuzzers+=("$argument") ;;
  *) seconds=$argument ;;
  esac
done
[ ${#fuzzers[@]} -gt 0 ] || fuzzers=("${all[@]}")

configureOwn fuzz
mkdir -p "$folder/found"
say "Building the fuzzers with $jobs jobs"
NINJA_STATUS='[%f/%t %es] ' cmake --build "$folder" -j "$jobs" --target "${fuzzers[@]/%/-fuzzer}" </dev/null || exit

# Runs one fuzzer; false if it found something.
fuzz() {
  local kept=$folder/corpus/$1 logFile=$folder/$1.log
  local options=(-max_total_time="$seconds" -timeout=60 -artifact_prefix="$folder/found/" -seed="${TESSERA_FUZZ_SEED:-0}")
  case $1 in
  bundle) options+=(-max_len=32768) ;; # its images begin at pages
  *) options+=(-max_len=8192) ;;
  esac
  # What grows from one call sequence to the next (addresses that reports can still name) is no leak; the leak check at exit stays.
  case $1 in ptx | driver) options+=(-detect_leaks=0) ;; esac
  mkdir -p "$kept"
  say "Fuzzing: $1, $seconds s (log: $logFile)"
  if "$folder/bin/$1-fuzzer" "${options[@]}" "$kept" "tests/fuzz/corpus/$1" >"$logFile" 2>&1 </dev/null; then
    printf '%s: %s\n' "$1" "$(grep -aE '^Done ' "$logFile")"
  else
    printf '%s: FAILED\n%s\n' "$1" "$(grep -anE -A 30 'ERROR:|runtime error|driver-fuzzer: |DEADLYSIGNAL' "$logFile" | head -n 60; tail -n 3 "$logFile")"
    return 1
  fi
}

running=()
for fuzzer in "${fuzzers[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do sleep 0.2; done
  fuzz "$fuzzer" &
  running+=($!)
done
failures=0
for process in "${running[@]}"; do
  wait "$process" || failures=$((failures + 1))
done
[ "$failures" -eq 0 ]
