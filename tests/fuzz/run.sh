#!/usr/bin/env bash
# Builds the fuzzers of the simulator and runs each on its corpus for a while. Exits 0 if nothing was found.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
. tests/house/setup.sh

usage() {
  cat <<'HELP'
usage: tests/fuzz/run.sh [SECONDS] [ptx|driver]

Builds ptx-fuzzer and driver-fuzzer with libFuzzer and the address and undefined-behaviour sanitizers, in the folder fuzz of the
build folder, and runs each (or the one named) for SECONDS (default 60) from the corpus in tests/fuzz/corpus. New inputs that reach
more code are kept in build/fuzz/corpus and taken up by the next run; an input that fails lies in build/fuzz/found, and

  build/fuzz/bin/ptx-fuzzer build/fuzz/found/FILE

runs it alone; TESSERA_FUZZ_TRACE=1 tells what it does. Once mended it belongs into tests/fuzz/corpus as a small file with a name.

  TESSERA_BUILD=DIR   build in DIR/fuzz instead of build/fuzz
  TESSERA_FUZZ_SEED=N start from this seed instead of a random one
HELP
}

seconds=60
fuzzers=()
for argument in "$@"; do
  case $argument in
  -h | --help) usage; exit 0 ;;
  ptx | driver) fuzzers+=("$argument") ;;
  *[!0-9]* | '') printf 'run.sh: unknown argument %s\n\n' "$argument" >&2; usage >&2; exit 2 ;;
  *) seconds=$argument ;;
  esac
done
[ ${#fuzzers[@]} -gt 0 ] || fuzzers=(ptx driver)

mkdir -p "$build" || die "cannot create the build folder $build."
installPackages
findCuda
folder=$(realpath "$build")/fuzz
mkdir -p "$folder/found"
if [ ! -f "$folder/build.ninja" ]; then
  cmake --preset fuzz -B "$folder" "-DTESSERA_CUDA_PATH=$cudaPath" >"$folder/configure.log" 2>&1 </dev/null || { cat "$folder/configure.log" >&2; die "configuring failed."; }
fi
say "Building the fuzzers with $jobs jobs"
NINJA_STATUS='[%f/%t %es] ' cmake --build "$folder" -j "$jobs" --target "${fuzzers[@]/%/-fuzzer}" </dev/null || exit

failures=0
for fuzzer in "${fuzzers[@]}"; do
  kept=$folder/corpus/$fuzzer logFile=$folder/$fuzzer.log
  mkdir -p "$kept"
  say "Fuzzing: $fuzzer, $seconds s (log: $logFile)"
  # What grows from one call sequence to the next (addresses that reports can still name) is no leak; the leak check at exit stays.
  options=(-max_total_time="$seconds" -timeout=60 -max_len=8192 -detect_leaks=0 -artifact_prefix="$folder/found/" -seed="${TESSERA_FUZZ_SEED:-0}")
  if "$folder/bin/$fuzzer-fuzzer" "${options[@]}" "$kept" "tests/fuzz/corpus/$fuzzer" >"$logFile" 2>&1 </dev/null; then
    grep -E '^#[0-9]+[[:space:]]+DONE|^Done ' "$logFile"
  else
    failures=$((failures + 1))
    grep -nE -A 30 'ERROR:|runtime error|driver-fuzzer: |DEADLYSIGNAL' "$logFile" | head -n 60
    tail -n 3 "$logFile"
  fi
done
[ "$failures" -eq 0 ]
