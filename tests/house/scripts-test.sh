#!/usr/bin/env bash
# Checks demo and check without building anything: help, wrong usage, and what they say when packages are missing without root.
set -uo pipefail
source=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

# expect TITLE EXIT_CODE PATTERN COMMAND...: runs the command and looks at its exit code and its output.
expect() {
  local title=$1 code=$2 pattern=$3 output actual
  shift 3
  output=$("$@" 2>&1 </dev/null)
  actual=$?
  if [ "$actual" -ne "$code" ] || ! grep -qE -- "$pattern" <<<"$output"; then
    printf 'FAILED %s: exit %d (expected %d), output (expected /%s/):\n%s\n' "$title" "$actual" "$code" "$pattern" "$output"
    failures=$((failures + 1))
  fi
}

# A machine without root on which one package is missing, and where calling apt-get at all is an error.
mkdir "$folder/bin"
cat >"$folder/bin/dpkg-query" <<'FAKE'
#!/bin/sh
case "$*" in *libsodium-dev*) exit 1 ;; *) printf installed ;; esac
FAKE
printf '#!/bin/sh\necho 1000\n' >"$folder/bin/id"
printf '#!/bin/sh\ntouch "%s/apt-was-called"\n' "$folder" >"$folder/bin/apt-get"
chmod +x "$folder"/bin/*
noRoot=(env "PATH=$folder/bin:$PATH" "TESSERA_BUILD=$folder/build")

for script in demo check; do
  expect "$script --help" 0 "^usage: ./$script" "$source/$script" --help
  expect "$script refuses unknown arguments" 2 "usage" "$source/$script" --nonsense
  expect "$script without root prints the one command" 1 "sudo sh -c 'apt-get update && apt-get install .* libsodium-dev'" "${noRoot[@]}" "$source/$script"
done
expect "an unknown TESSERA_CUDA is refused" 1 "'wheels' is the only value" \
  env "TESSERA_BUILD=$folder/build" TESSERA_CUDA=nonsense "$source/demo"
if [ -e "$folder/apt-was-called" ]; then
  echo "FAILED apt-get was called without root"
  failures=$((failures + 1))
fi
echo "$failures failures"
[ "$failures" -eq 0 ]
