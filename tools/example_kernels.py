"""The kernels of the examples with the signatures of their launches, for tools that compile all of them.

KERNELS: (example, kernel, signature, warps, stages), in the form that `tilewright compile` takes.
"""

STRIDES = "stride_am=i32:16,stride_ak=1,stride_bk=i32:16,stride_bn=1,stride_cm=i32:16,stride_cn=1"


def matmul(dtype, blocks, more=""):
    """A matmul's signature: `blocks` are BLOCK_M, BLOCK_N and BLOCK_K."""
    m, n, k = blocks
    return (f"a_ptr=*{dtype}:16,b_ptr=*{dtype}:16,c_ptr=*{dtype}:16,M=i32:16,N=i32:16,K=i32:16,{STRIDES},BLOCK_M={m},BLOCK_N={n},"
            f"BLOCK_K={k}{more}")


ATTENTION = ",".join(["q_ptr=*fp16:16,k_ptr=*fp16:16,v_ptr=*fp16:16,out_ptr=*fp16:16,scale=fp32,n_batches=i32,n_heads=i32:16,n_ctx=i32:16"] + [
    f"stride_{tensor}z=i32:16,stride_{tensor}h=i32:16,stride_{tensor}n=i32:16,stride_{tensor}d=1" for tensor in "qkvo"])


def attention_backward(written):
    """A signature of attention backward's kernels, which differ in what they write."""
    read = "q_ptr=*fp16:16,k_ptr=*fp16:16,v_ptr=*fp16:16,grad_ptr=*fp16:16,log_ptr=*fp32:16,delta_ptr=*fp32:16"
    strides = [f"stride_{tensor}z=i32:16,stride_{tensor}h=i32:16,stride_{tensor}n=i32:16,stride_{tensor}d=1"
               for tensor in ("q", "k", "v", "g", *written)]
    return ",".join([read, *(f"{tensor}_ptr=*fp16:16" for tensor in written), "scale=fp32,n_heads=i32:16,n_ctx=i32:16", *strides])


TUNED = ",GROUP_M=8,EVEN_K=True,ACTIVATION=''"
SOFTMAX = ("out_ptr=*fp32:16,in_ptr=*fp32:16,in_row_stride=i32:16,out_row_stride=i32:16,n_rows=i32:16,n_cols=i32:16,BLOCK_SIZE={},"
           "num_stages=2")

# Kernels in which a spilled register would cost speed: tests/python/test_example_resources.py looks at each.
HEAVY = [
    ("02_fused_softmax", "softmax_kernel", SOFTMAX.format(4096), 4, 3),
] + [
    ("06_matmul_autotuned", "tuned_matmul_kernel", matmul("fp16", (m, n, k), TUNED), warps, stages)
    for m, n, k, warps, stages in [(128, 256, 64, 8, 3), (128, 128, 32, 4, 4), (64, 256, 32, 4, 4), (64, 64, 64, 4, 3)]
] + [
    ("07_attention", "attention_kernel", f"{ATTENTION},HEAD_DIM={d},CAUSAL=True,BLOCK_M={m},BLOCK_N={n}", warps, 3)
    for d in (64, 128) for m, n, warps in [(128, 64, 8), (128, 128, 8), (64, 64, 4), (64, 32, 4), (32, 64, 4), (64, 256, 8)]
] + [
    ("07_attention", "attention_kernel", f"{ATTENTION},HEAD_DIM={d},CAUSAL={causal},BLOCK_M=128,BLOCK_N=128,PERSISTENT={walks}", 8, 2)
    for d in (64, 128) for causal in (False, True) for walks in (False, True)
]

HEAVY += [
    ("13_attention_backward", kernel, f"{attention_backward(written)}{sums},HEAD_DIM={d},CAUSAL={causal},OWN={own},STEP=64", warps, stages)
    for kernel, written, sums in (("keys_kernel", ("dk", "dv"), ",sum_ptr=None"), ("keys_kernel", ("dk", "dv"), ",sum_ptr=*fp32:16"),
                                  ("queries_kernel", ("dq",), ""))
    for d, own, warps, stages in ((64, 64, 4, 2), (64, 64, 4, 3), (64, 128, 8, 3), (128, 128, 8, 3)) for causal in (False, True)
] + [
    ("13_attention_backward", "keys_kernel", f"{attention_backward(('dk', 'dv'))},sum_ptr=*fp32:16,HEAD_DIM=64,CAUSAL={causal},OWN=128,STEP=128", 8, 2)
    for causal in (False, True)
]

HEAVY += [
    ("16_fp8_matmul", "fp8_matmul_kernel", "*u8:16,*u8:16,*fp32:16,*fp32:16,*fp32:16,i32:16,i32:16,i32:16,i32:16,i32:16,i32:16,"
     f"BLOCK_M={m},BLOCK_N={n},BLOCK_K=128,GROUP_M=16,PROMOTION_INTERVAL=128", 8, stages)
    for m, n, stages in [(128, 256, 4), (64, 128, 6)]
]

KERNELS = HEAVY + [
    ("01_vector_add", "add_kernel", "*fp32:16,*fp32:16,*fp32:16,i32:16,1024", 4, 3),
    ("01_vector_add", "add_kernel", "*fp32,*fp32,*fp32,i32,1024", 4, 3),
    ("02_fused_softmax", "softmax_kernel", SOFTMAX.format(1024), 4, 3),
    ("03_matmul_basic", "matmul_kernel", matmul("fp32", (64, 64, 32)), 4, 3),
    ("03_matmul_basic", "matmul_kernel", matmul("fp16", (64, 64, 32)), 4, 3),
    ("04_matmul_grouped", "grouped_matmul_kernel", matmul("fp32", (128, 128, 32), ",GROUP_M=8"), 8, 3),
    ("04_matmul_grouped", "grouped_matmul_kernel", matmul("fp16", (128, 128, 32), ",GROUP_M=8"), 8, 3),
    ("05_matmul_block_pointers", "block_matmul_kernel", matmul("fp16", (128, 128, 64)), 8, 3),
    ("05_matmul_block_pointers", "block_matmul_kernel", matmul("bf16", (64, 64, 32)), 4, 3),
    ("06_matmul_autotuned", "tuned_matmul_kernel", matmul("fp32", (64, 64, 32), TUNED), 4, 3),
    ("07_attention", "attention_kernel", f"{ATTENTION},HEAD_DIM=64,CAUSAL=False,BLOCK_M=128,BLOCK_N=64".replace("fp16", "fp32"), 8, 3),
    ("07_attention", "attention_kernel", f"{ATTENTION},HEAD_DIM=128,CAUSAL=False,BLOCK_M=128,BLOCK_N=128", 8, 3),
    ("08_gelu_dropout", "gelu_dropout_kernel", "*fp32:16,*fp32:16,i32:16,fp32,i32,1024", 4, 3),
    ("08_gelu_dropout", "gelu_dropout_kernel", "*bf16:16,*bf16:16,i32,fp32,i32,4096", 8, 3),
    ("09_layer_norm", "layer_norm_kernel", "*fp32:16,*fp32:16,*fp32:16,*fp32:16,*fp32:16,*fp32:16,i32:16,i32:16,i32:16,fp32,1024", 4, 3),
    ("09_layer_norm", "layer_norm_kernel", "*fp16:16,*fp16:16,*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32,i32,i32,fp32,4096", 8, 3),
    ("10_int8_matmul", "int8_matmul_kernel", "a_ptr=*i8:16,b_ptr=*i8:16,row_scale_ptr=*fp32:16,column_scale_ptr=*fp32:16,exact_ptr=*i32:16,"
     f"c_ptr=*fp32:16,M=i32:16,N=i32:16,K=i32:16,{STRIDES},BLOCK_M=64,BLOCK_N=64,BLOCK_K=64", 4, 3),
    ("12_scaled_matmul", "scaled_matmul_kernel", "*u8:16,*u8:16,*u8:16,*u8:16,*fp32:16,i32:16,i32:16,i32:16,i32:16,i32:16,i32,i32,i32:16,"
     "BLOCK_M=256,BLOCK_N=128,BLOCK_K=64", 8, 3),
    ("14_split_k_matmul", "split_k_kernel", "*fp16:16,*fp16:16,*fp32:16,i32,i32:16,i32:16,i32:16,i32:16,1,512,16,128,64", 4, 6),
    ("14_split_k_matmul", "add_parts_kernel", "*fp32:16,*fp16:16,i32:16,16,1024", 4, 3),
    ("15_grouped_matmul", "grouped_gemm_kernel", "*fp16:16,*fp16:16,*fp16:16,*i32:16,*i32:16,*i32:16,i32:16,i32:16,i32:16,i32:16,i32:16,"
     "i32:16,BLOCK_M=64,BLOCK_N=128,BLOCK_K=64", 4, 4),
    ("15_grouped_matmul", "grouped_gemm_kernel", "*fp16:16,*fp16:16,*fp16:16,*i32:16,*i32:16,*i32:16,i32:16,i32:16,i32:16,i32:16,i32:16,"
     "i32:16,BLOCK_M=128,BLOCK_N=256,BLOCK_K=64", 8, 4),
    ("11_reductions", "causal_reduce_kernel", "*fp32:16,*fp32:16,*i32:16,*fp32:16,i32:16,i32:16,16,128", 4, 3),
]
