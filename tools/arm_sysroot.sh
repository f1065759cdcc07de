#!/usr/bin/env bash
# Unpacks Debian's packages for 64-bit ARM that cross compilation needs (cmake/aarch64.cmake). Nothing is installed on the build machine: apt
# works with lists, a cache and a database of its own.
#
#   tools/arm_sysroot.sh [FOLDER]     default: build/arm64-sysroot
#
# A folder that is complete is left as it is. Programs of the sysroot run under qemu-aarch64 -L FOLDER, Python among them.
set -euo pipefail
cd "$(dirname "$0")/.."

sysroot=$(realpath -m "${1:-build/arm64-sysroot}")
packages=(
  libc6-dev libstdc++-12-dev libgcc-12-dev
  # LLVM, MLIR and LLD, and what their CMake files ask for
  llvm-22-dev libmlir-22-dev mlir-22-tools liblld-22-dev libzstd-dev zlib1g-dev libxml2-dev libedit-dev libcurl4-openssl-dev
  # the Python package, and its tests
  libpython3.11-dev python3.11 python3-numpy python3-pytest
)
stamp=$sysroot/.complete
wanted=$(printf '%s\n' "${packages[@]}")
if [[ -f $stamp && $(<"$stamp") == "$wanted" ]]; then
  exit 0
fi

echo "arm_sysroot: unpacking Debian's packages for arm64 in $sysroot"
apt=$sysroot/.apt
mkdir -p "$apt"/{lists/partial,cache/archives/partial} "$sysroot/usr"
: >"$apt/status"
options=(-qq -o "Dir::State=$apt" -o "Dir::State::status=$apt/status" -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache"
  -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User= -o Debug::NoLocking=true)
apt-get "${options[@]}" update </dev/null
apt-get "${options[@]}" -y --no-install-recommends --download-only install "${packages[@]}" </dev/null >/dev/null

# /lib and /bin are links into /usr, as on an installed system.
for folder in bin lib sbin; do
  mkdir -p "$sysroot/usr/$folder"
  ln -sfn "usr/$folder" "$sysroot/$folder"
done
# The list of archives with their packages is for the bill of materials (tools/sbom.py), and so are the licenses in usr/share/doc.
: >"$sysroot/.archives"
for package in "$apt"/cache/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$package" | tar -x -C "$sysroot" --keep-directory-symlink --no-same-owner \
    --exclude='./usr/share/man' --exclude='./usr/share/locale'
  name=$(dpkg-deb --field "$package" Package) version=$(dpkg-deb --field "$package" Version)
  dpkg-deb --contents "$package" | awk -v name="$name" -v version="$version" '$6 ~ /\.a$/ {print substr($6, 3), name, version}' >>"$sysroot/.archives"
done

# Links to absolute paths would lead out of the sysroot.
find "$sysroot" -xtype l -lname '/*' -print0 | while IFS= read -r -d '' link; do
  ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$sysroot$(readlink "$link")")" "$link"
done
# What update-alternatives does on an installed system.
for library in blas lapack; do
  ln -sfn "$library/lib$library.so.3" "$sysroot/usr/lib/aarch64-linux-gnu/lib$library.so.3"
done
rm -rf "$apt"
printf '%s\n' "${packages[@]}" >"$stamp"
