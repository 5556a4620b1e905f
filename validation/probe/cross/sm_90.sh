#!/usr/bin/env bash
# Compiles and links the probe for sm_90 (H100, H200) with nvcc alone, without CMake and without a GPU.
# Usage: sm_90.sh [output folder]; prints the path of the program. Exits 3 where nvcc is missing.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-build/probe-sm_90}

nvcc=$(command -v nvcc || true)
[ -n "$nvcc" ] || nvcc=${CUDA_HOME:-/usr/local/cuda}/bin/nvcc
[ -x "$nvcc" ] || { echo "sm_90.sh: nvcc is missing: install the CUDA toolkit or set CUDA_HOME" >&2; exit 3; }

mkdir -p "$out/objects"
out=$(cd "$out" && pwd)
compile() {
  local object=${1#"$root/src/"}
  object=${object#"$out/units/"}
  object=$out/objects/${object//\//-}.o
  local language=(-x cu -arch=sm_90)
  case $1 in "$root"/src/device/* | "$out"/units/*) ;; *) language=(-x c++) ;; esac
  "$nvcc" "${language[@]}" -std=c++17 -O2 -I "$root/src" -c "$1" -o "$object"
}
export -f compile
export root out nvcc
rm -rf "$out"/objects/*.o "$out/units" "$out/probe"

# Most of a file's time goes into the headers of CUDA: those without a kernel are compiled together, half and
# half, so their unnamed namespaces must not share names. gfx942.sh, like CMake, compiles each by itself.
mkdir "$out/units"
kernels=() number=0
for file in "$root"/src/device/*.cpp; do
  if grep -q __global__ "$file"; then
    kernels+=("$file")
  else
    echo "#include \"$file\"" >> "$out/units/$((number++ % 2)).cpp"
  fi
done
printf '%s\0' "$out"/units/*.cpp "${kernels[@]}" "$root"/src/*.cpp |
  xargs -0 -n 1 -P "$(nproc)" bash -c 'compile "$1" || exit 255' _  # 255: no other is begun
"$nvcc" -arch=sm_90 "$out"/objects/*.o -ldl -lpthread -o "$out/probe"
echo "$out/probe"
