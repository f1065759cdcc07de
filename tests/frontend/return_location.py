# RUN: env TILEWRIGHT_DEBUG_INFO=1 tilewright compile %s --kernel fill --signature '*i32' --until emit-tiles | FileCheck %s
# RUN: env TILEWRIGHT_DEBUG_INFO=1 tilewright compile %s --kernel fill_or_leave --signature '*i32,i32' --until emit-tiles | FileCheck %s --check-prefix=EARLY
import triton
import triton.language as tl


# An implicit return has the location of the function, not that of its last statement.
# CHECK-DAG: [[FUNCTION:#loc[0-9]*]] = loc("{{.*}}return_location.py":[[#@LINE+5]]:5)
# CHECK: tt.store {{.*}} loc([[STORE:#loc[0-9]*]])
# CHECK-NEXT: tt.return loc([[FUNCTION]])
# CHECK: [[STORE]] = loc("{{.*}}return_location.py":[[#@LINE+3]]:5)
@triton.jit
def fill(out):
    tl.store(out, 1)


# EARLY: tt.return loc([[RETURN:#loc[0-9]*]])
# EARLY: [[RETURN]] = loc("{{.*}}return_location.py":[[#@LINE+4]]:5)
@triton.jit
def fill_or_leave(out, n):
    tl.store(out, n)
    return
