#!/bin/sh
# The compiler launcher of CMake: ccache with precompiled headers, so that every checkout can use the cached objects.
#
#     tools/ccache.sh clang++-22 ...
#
# A precompiled header contains absolute paths, so each build folder has its own. ccache compares the file NAME.pch.sum instead: a
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
# "a.pch: b.h c.h" over several lines; names with blanks are not headers of this project.
sed -e 's/^[^:]*://' -e 's/\\$//' "$depends" | xargs cat | sha256sum >"${depends%.d}.sum"
