#!/usr/bin/env bash
# Compiles and links the probe for sm_90 (H100, H200) with nvcc alone, without CMake and without a GPU.
# Usage: sm_90.sh [output folder] [optimised | quick]; prints the path of the program. Exits 3 where nvcc is
# missing. quick: host code is not optimised, so it is no program to measure with.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-build/probe-sm_90}
host=
[ "${2:-optimised}" != quick ] || host="-Xcompiler=-O0"

nvcc=$(command -v nvcc || true)
[ -n "$nvcc" ] || nvcc=${CUDA_HOME:-/usr/local/cuda}/bin/nvcc
[ -x "$nvcc" ] || { echo "sm_90.sh: nvcc is missing: install the CUDA toolkit or set CUDA_HOME" >&2; exit 3; }

# Most of a file's time goes into the headers of CUDA: they are compiled together (units.sh). CMake, and
# gfx942.sh where it is not told otherwise, compile each by itself.
mkdir -p "$out/objects"
out=$(cd "$out" && pwd)
rm -f "$out"/objects/*.o "$out/probe"
"$root/cross/units.sh" "$out/units"
compile() {
  local language=(-x cu -arch=sm_90)
  [ "$1" != host ] || language=(-x c++)
  "$nvcc" "${language[@]}" -std=c++17 -O2 $host -I "$root/src" -c "$out/units/$1.cpp" -o "$out/objects/$1.o"
}
export -f compile
export root out nvcc host
printf '%s\0' kernels rest host |
  xargs -0 -n 1 -P "$(nproc)" bash -c 'compile "$1" || exit 255' _  # 255: no other is begun
"$nvcc" -arch=sm_90 "$out"/objects/*.o -ldl -lpthread -o "$out/probe"
echo "$out/probe"
