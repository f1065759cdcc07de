# RUN: tilewright compile %s --signature '*fp32:16,*fp32:16,*fp32:16' --target cpu:neon --emit asm | FileCheck %s --check-prefix=NEON
# RUN: tilewright compile %s --signature '*fp32:16,*fp32:16,*fp32:16' --target cpu:sve256 --emit asm | FileCheck %s --check-prefix=SVE
# RUN: tilewright compile %s --signature '*bf16:16,*bf16:16,*fp32:16' --target cpu:neon-dot --emit asm | FileCheck %s --check-prefix=BF16
# RUN: tilewright compile %s --signature '*i8:16,*i8:16,*i32:16' --target cpu:neon-dot --emit asm | FileCheck %s --check-prefix=I8
# RUN: tilewright compile %s --signature '*i8:16,*i8:16,*i32:16' --target cpu:armv8 --emit asm | FileCheck %s --check-prefix=WORDS
# RUN: tilewright compile %s --signature '*bf16:16,*bf16:16,*fp32:16' --target cpu:sve --emit asm | FileCheck %s --check-prefix=BF16
# RUN: tilewright explain %s --signature '*i8:16,*i8:16,*i32:16' --target cpu:neon-dot | FileCheck %s --check-prefix=EXPLAIN
import triton
import triton.language as tl


# The multiply-adds take lanes of vectors of A: no broadcast, and nothing is spilled in the inner loop.
# NEON: ldp q{{[0-9]+}}, q{{[0-9]+}}
# NEON: fmla v{{[0-9]+}}.4s, v{{[0-9]+}}.4s, v{{[0-9]+}}.s[3]
# NEON-NOT: ld1r

# SVE: ld1rqw
# SVE: fmla z{{[0-9]+}}.s, z{{[0-9]+}}.s, z{{[0-9]+}}.s[3]

# BF16: zip1 v{{[0-9]+}}.2d
# BF16: bfmmla v{{[0-9]+}}.4s, v{{[0-9]+}}.8h, v{{[0-9]+}}.8h

# I8: smmla v{{[0-9]+}}.4s, v{{[0-9]+}}.16b, v{{[0-9]+}}.16b

# WORDS: smlal{{2?}} v{{[0-9]+}}.4s

# EXPLAIN: smmla
@triton.jit
def dot(a, b, c):
    m, n, k = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 64)
    x = tl.load(a + m[:, None] * 64 + k[None, :])
    y = tl.load(b + k[:, None] * 64 + n[None, :])
    tl.store(c + m[:, None] * 64 + n[None, :], tl.dot(x, y, out_dtype=c.dtype.element_ty))
