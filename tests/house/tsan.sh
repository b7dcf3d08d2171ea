#!/usr/bin/env bash
# Builds the tests of what threads share and runs them under ThreadSanitizer. Exits 0 if nothing was found.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
. tests/house/setup.sh

usage() {
  cat <<'HELP'
usage: tests/house/tsan.sh [TEST...]

Builds driver-fake-test, cache-test, bundle-test and engine-test (or those named) with ThreadSanitizer in the folder tsan of the
build folder, and runs each as one process. A data race, a lock taken in two orders or a failed test is printed and fails.

  build/tsan/bin/engine-test --gtest_filter='EnginePrepare.*'

runs some of them again.

  TESSERA_BUILD=DIR   build in DIR/tsan instead of build/tsan
HELP
}

tests=()
for argument in "$@"; do
  case $argument in
  -h | --help) usage; exit 0 ;;
  *-test) tests+=("$argument") ;;
  *) printf 'tsan.sh: unknown argument %s\n\n' "$argument" >&2; usage >&2; exit 2 ;;
  esac
done
[ ${#tests[@]} -gt 0 ] || tests=(driver-fake-test cache-test bundle-test engine-test)

configureOwn tsan
say "Building the tests with $jobs jobs"
NINJA_STATUS='[%f/%t %es] ' cmake --build "$folder" -j "$jobs" --target "${tests[@]}" </dev/null || exit

# Prints the counts of a test, or what it found.
runTest() {
  local logFile=$folder/$1.log rc
  timeout 600 "$folder/bin/$1" --gtest_brief=1 >"$logFile" 2>&1 </dev/null
  rc=$?
  if [ $rc -eq 0 ]; then
    printf '%s: %s\n' "$1" "$(grep -E '^\[==========\] [0-9]+ tests? from .* ran' "$logFile" | cut -d ' ' -f 2-)"
    return
  fi
  printf '%s: exit code %d (124: hung), log %s\n' "$1" $rc "$logFile"
  grep -nE -A 40 'WARNING: ThreadSanitizer|Failure$|^\[  FAILED' "$logFile" | head -n 120
  return 1
}

say "Running ${tests[*]}"
export folder
export -f runTest
# As many at once as there are processors: each spends much of its time waiting for files and children.
printf '%s\n' "${tests[@]}" | TSAN_OPTIONS="second_deadlock_stack=1 ${TSAN_OPTIONS:-}" xargs -P "$jobs" -I {} bash -c 'runTest {}'
