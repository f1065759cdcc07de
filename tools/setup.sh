#!/usr/bin/env bash
# Installs all packages that building and testing Tilewright needs on Debian 12, and prints each step. Run it as root. If nothing is
# missing, it ends at once and calls neither apt nor pip.
#
#   tools/setup.sh            compiler, libraries, and build/venv with the packages of tools/requirements.txt
#   tools/setup.sh --browser  also Chromium, in which the page of `tilewright explain --html` is tested
#   tools/setup.sh --arm      also the cross compiler and the emulator with which code for 64-bit ARM is tested
#   tools/setup.sh --clang    also clang++ 16, the oldest one that the C++ interface is tested with
#   tools/setup.sh --torch    also PyTorch in build/venv (several GB), for tests and benchmarks that use it when present
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  # LLVM, MLIR and the compilers
  llvm-22-dev libmlir-22-dev mlir-22-tools llvm-22-tools lld-22 liblld-22-dev clang-22 clang-format-22 libclang-rt-22-dev g++
  # dependencies of LLVM's CMake files
  libzstd-dev libxml2-dev zlib1g-dev libedit-dev libcurl4-openssl-dev
  # building and testing
  cmake ninja-build ccache make git libgtest-dev libbenchmark-dev rustc
  # tests of the C interface: its binary form, and the HTTP service of the examples
  abigail-tools libcpp-httplib-dev
  # the Python package, and OpenBLAS for the benchmarks
  python3 python3-dev python3-venv libopenblas-dev
)

options=" $* "
[[ $options == *" --browser "* ]] && packages+=(chromium)
[[ $options == *" --arm "* ]] && packages+=(g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)
[[ $options == *" --clang "* ]] && packages+=(clang-16)

installed=$(dpkg-query -W -f='${Package} ${db:Status-Abbrev}\n' "${packages[@]}" 2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
  grep -q "^$package ii" <<<"$installed" || missing+=("$package")
done
if ((${#missing[@]})); then
  if ((EUID != 0)); then
    echo "setup: missing: ${missing[*]}" >&2
    echo "setup: run tools/setup.sh as root, or install these packages with apt-get" >&2
    exit 1
  fi
  echo "setup: installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq </dev/null
  apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null >/dev/null
fi

# The stamp is a copy of the installed requirements file: after a change, pip installs again.
venv=build/venv
stamp=$venv/requirements.stamp
if ! [[ -x $venv/bin/python ]] || ! cmp -s tools/requirements.txt "$stamp"; then
  echo "setup: making $venv from tools/requirements.txt"
  mkdir -p build
  [[ -x $venv/bin/python ]] || /usr/bin/python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r tools/requirements.txt </dev/null
  cp tools/requirements.txt "$stamp"
fi

if [[ $options == *" --torch "* ]] && ! compgen -G "$venv/lib/python3*/site-packages/torch" >/dev/null; then
  echo "setup: installing PyTorch in $venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check torch </dev/null
fi
