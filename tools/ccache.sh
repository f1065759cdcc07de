#!/bin/sh
# The compiler launcher of CMake: ccache, for a build with precompiled headers whose objects are found again from any checkout.
#
#     tools/ccache.sh clang++-22 ...
#
# A precompiled header holds absolute paths, so that it is made in each build folder. What ccache compares in its place is the file NAME.pch.sum: a
# checksum of all headers in it. Paths into the build folder, where ninja starts compilers, become relative.
export CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=true
makes=
for word; do
  shift
  case $word in
  -emit-pch) makes=yes ;;
  "$PWD"/*) word=${word#"$PWD"/} ;;
  *.pch.d) depends=$word ;;
  esac
  set -- "$@" "$word"
done
[ "$makes" ] || exec ccache "$@"
"$@" || exit
# "a.pch: b.h c.h" over several lines; names with blanks are no headers of ours.
sed -e 's/^[^:]*://' -e 's/\\$//' "$depends" | xargs cat | sha256sum >"${depends%.d}.sum"
