#!/bin/sh
# agree.sh SCRATCH OUTPUT ARGUMENTS...: runs a kernel on the interpreter, which also checks for accesses outside the
# tensors, then as compiled code, and compares OUTPUT. The environment is empty, so that no Python can be found.
set -eu
scratch=$1
output=$2
shift 2
command=$(command -v tilewright)
mkdir -p "$scratch"
env -i PATH=/nonexistent TILEWRIGHT_CACHE_DIR="$scratch/cache" "$command" run "$@" --sanitize --out "$output=$scratch/expected.npy"
env -i PATH=/nonexistent TILEWRIGHT_CACHE_DIR="$scratch/cache" "$command" run "$@" --threads 2 --rtol 1e-3 --atol 1e-3 \
  --check "$output=$scratch/expected.npy"
