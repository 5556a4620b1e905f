#!/usr/bin/env bash
# Compiles and links the probe for gfx942 (MI300X) without ROCm and without a GPU: with Debian's clang 19, HIP
# headers and device libraries. With ROCm, use CMake instead.
# Usage: gfx942.sh [output folder]; prints the path of the program. Exits 3 where something is missing.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-build/probe-gfx942}

missing() {
  echo "gfx942.sh: $1 is missing: apt-get install clang-19 clang-tools-19 lld-19 libamdhip64-dev rocm-device-libs" >&2
  exit 3
}
command -v clang++-19 > /dev/null || missing clang++-19
command -v ld.lld-19 > /dev/null || missing ld.lld-19
[ -e /usr/include/hip/hip_runtime.h ] || missing hip/hip_runtime.h
bitcode=$(find /usr/lib -type d -path '*/amdgcn/bitcode' -exec test -e '{}/ocml.bc' ';' -print -quit)
[ -n "$bitcode" ] || missing ocml.bc

# Debian's device libraries are older than gfx942; the one constant that differs by target is added here.
mkdir -p "$out/device-libs" "$out/objects"
out=$(cd "$out" && pwd)
libs=$out/device-libs
cp "$bitcode"/*.bc "$libs"
clang-19 -x ir --target=amdgcn-amd-amdhsa \
  -nogpulib -emit-llvm -c -o "$libs/oclc_isa_version_942.bc" - << 'END'
target triple = "amdgcn-amd-amdhsa"
@__oclc_ISA_version = linkonce_odr protected local_unnamed_addr addrspace(4) constant i32 9402, align 4
END

compile() {
  local object=${1#"$root/src/"}
  object=$out/objects/${object//\//-}.o
  clang++-19 -x hip --offload-arch=gfx942 --rocm-device-lib-path="$libs" --hip-path=/usr -std=c++17 -O2 \
    -I "$root/src" -c "$1" -o "$object"
}
export -f compile
export root out libs
rm -f "$out"/objects/*.o "$out/probe"
printf '%s\0' "$root"/src/*.cpp "$root"/src/device/*.cpp |
  xargs -0 -n 1 -P "$(nproc)" bash -c 'compile "$1" || exit 255' _  # 255: no other is begun
clang++-19 "$out"/objects/*.o --hip-link --offload-arch=gfx942 --rocm-device-lib-path="$libs" \
  --hip-path=/usr -lamdhip64 -ldl -pthread -o "$out/probe"
echo "$out/probe"
