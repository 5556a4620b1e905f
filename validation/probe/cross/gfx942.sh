#!/usr/bin/env bash
# Compiles and links the probe for gfx942 (MI300X) without ROCm and without a GPU: with Debian's clang 19, HIP
# headers and device libraries. With ROCm, use CMake instead.
# Usage: gfx942.sh [output folder] [each | units]; prints the path of the program. Exits 3 where something is
# missing. each: every file by itself, as CMake does. units: all in three (units.sh), a fifth of the work; host
# code that has no kernel is not optimised, so it is no program to measure with.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-build/probe-gfx942}
by=${2:-each}

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
  local object=${1#"$root/src/"} level=-O2 language=(-x hip --offload-arch=gfx942)
  object=${object#"$out/units/"}
  case $object in
    host.cpp) level=-O0 language=(-x c++) ;;
    rest.cpp) level=-O0 ;;
  esac
  object=$out/objects/${object//\//-}.o
  [ "${language[1]}" = c++ ] || language+=(--rocm-device-lib-path="$libs" --hip-path=/usr)
  clang++-19 "${language[@]}" -std=c++17 "$level" -I "$root/src" -c "$1" -o "$object"
}
export -f compile
export root out libs
rm -f "$out"/objects/*.o "$out/probe"
sources=("$root"/src/*.cpp "$root"/src/device/*.cpp)
if [ "$by" = units ]; then
  "$root/cross/units.sh" "$out/units"
  sources=("$out"/units/{kernels,rest,host}.cpp)
fi
printf '%s\0' "${sources[@]}" |
  xargs -0 -n 1 -P "$(nproc)" bash -c 'compile "$1" || exit 255' _  # 255: no other is begun
clang++-19 "$out"/objects/*.o --hip-link --offload-arch=gfx942 --rocm-device-lib-path="$libs" \
  --hip-path=/usr -lamdhip64 -ldl -pthread -o "$out/probe"
echo "$out/probe"
