#!/usr/bin/env bash
# Writes three files that include all of the probe's: kernels.cpp those with a kernel, rest.cpp the others that
# know the GPU, host.cpp those that do not. Headers are read once each, so their unnamed namespaces must not
# share names.
# Usage: units.sh FOLDER
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
rm -f "$1"/*.cpp
for file in "$root"/src/*.cpp "$root"/src/device/*.cpp; do
  unit=host
  case $file in */device/*) if grep -q __global__ "$file"; then unit=kernels; else unit=rest; fi ;; esac
  echo "#include \"$file\"" >> "$1/$unit.cpp"
done
