#!/usr/bin/env bash
# Packs for sm_90, and runs the pack on a simulated H100 with an environment that knows nothing of the build. Usage: test.sh SOURCE BUILD
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
TESSERA_CACHE=off "$1/pack.sh" "$2" sm_90 "$folder/pack" 2
mv "$folder/pack" "$folder/moved"
env -i PATH="$PATH" HOME="$folder" "$folder/moved/run.sh" sim:h100 "$folder/results" 2m
grep -q '"ok": true' "$folder/results/check-1.json"
grep -q '"modelled": true' "$folder/results/tune.json"
[ -s "$folder/results/tune.html" ]
