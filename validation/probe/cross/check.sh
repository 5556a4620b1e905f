#!/usr/bin/env bash
# What can be checked of the probe without a GPU: its self-test, that it compiles and links for gfx942 and
# (where nvcc is present) for sm_90, and that it says in one line that there is no device.
# Usage: check.sh [build folder] [all | units | host]; all: each file by itself (for sm_90 those of a kind
# together); units: together, a quarter of the work, so a file that forgets a header which another includes
# passes; host: the self-test alone, together
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-build/probe}
targets=${2:-all}

packages=()
command -v cmake > /dev/null || packages+=(cmake)
command -v c++ > /dev/null || packages+=(g++)
command -v make > /dev/null || packages+=(make)
if [ "$targets" != host ]; then
  command -v clang++-19 > /dev/null || packages+=(clang-19)
  command -v ld.lld-19 > /dev/null || packages+=(lld-19)
  [ -e /usr/lib/llvm-19/bin/clang-offload-bundler ] || packages+=(clang-tools-19)
  [ -e /usr/include/hip/hip_runtime.h ] || packages+=(libamdhip64-dev)
  [ -n "$(find /usr/lib -path '*/amdgcn/bitcode/ocml.bc' -print -quit)" ] || packages+=(rocm-device-libs)
fi
if [ ${#packages[@]} -gt 0 ]; then
  if ! command -v apt-get > /dev/null || [ "$(id -u)" != 0 ]; then
    echo "check.sh: needs the Debian packages ${packages[*]}; run as root: apt-get install ${packages[*]}" >&2
    exit 3
  fi
  echo "installing ${packages[*]}"
  export DEBIAN_FRONTEND=noninteractive
  if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${packages[@]}"; } > /dev/null
  then
    echo "check.sh: could not install ${packages[*]} (apt-get, messages above)" >&2
    exit 3
  fi
fi

# Without a device `probe machine`, and `probe ranks` before it starts a rank, must exit 4 after one line on stderr.
# GPUs that are here are hidden.
without_device() {
  local words code
  for words in "machine" "ranks --first hold:1"; do
    code=0
    # shellcheck disable=SC2086  # words of a command line
    HIP_VISIBLE_DEVICES=-1 ROCR_VISIBLE_DEVICES=-1 CUDA_VISIBLE_DEVICES=-1 \
      "$1" $words > "$build/stdout" 2> "$build/stderr" || code=$?
    sed 's/^/  /' "$build/stderr"
    echo "  exit code $code"
    if [ "$code" != 4 ] || [ "$(wc -l < "$build/stderr")" != 1 ] || [ -s "$build/stdout" ]; then
      echo "check.sh: $1 $words must print one line on stderr, nothing on stdout and exit with 4 (no device)" >&2
      exit 1
    fi
  done
}

mkdir -p "$build"
self_test=(-DCMAKE_BUILD_TYPE=Debug -DCMAKE_UNITY_BUILD=ON) by=() host=()
if [ "$targets" = all ]; then self_test=(); fi
if [ "$targets" = units ]; then by=(units) host=(quick); fi
quietly() { "$@" > "$build/log" 2>&1 || { cat "$build/log" >&2; exit 1; }; }
quietly cmake -S "$here/.." -B "$build/host" -DPROBE_BACKEND=none "${self_test[@]}"
quietly cmake --build "$build/host" --parallel
ctest --test-dir "$build/host" --output-on-failure
[ "$targets" != host ] || exit 0

echo "gfx942:"
probe=$("$here/gfx942.sh" "$build/gfx942" "${by[@]}")
without_device "$probe"

if command -v nvcc > /dev/null || [ -x "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" ]; then
  echo "sm_90:"
  probe=$("$here/sm_90.sh" "$build/sm_90" "${host[@]}")
  without_device "$probe"
else
  echo "sm_90: no nvcc here, not compiled"
fi
