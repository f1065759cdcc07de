"""PyTorch's own sample inputs of its operators (torch.testing's OpInfo), each compiled and compared with the eager operator."""

import itertools
import os

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

DEVICE = os.environ.get("CLIENTS_DEVICE", "cpu")
RANDOM = ("dropout", "rand", "normal", "uniform", "bernoulli", "multinomial", "exponential", "geometric", "cauchy", "empty", "rrelu", "svd_lowrank", "pca_lowrank")
DTYPES = (torch.float32, torch.float16, torch.int64)
SAMPLES = 4  # of an operator


def cases():
    for op in op_db:
        name = op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")
        if any(word in name for word in RANDOM):
            continue
        for dtype in DTYPES:
            if op.supports_dtype(dtype, DEVICE):
                yield pytest.param(op, dtype, id=f"{name}-{str(dtype).split('.')[-1]}")



@pytest.mark.parametrize("op, dtype", cases())
def test_op(op, dtype):
    torch.manual_seed(0)
    torch._dynamo.reset()
    for sample in itertools.islice(op.sample_inputs(DEVICE, dtype), SAMPLES):
        def program(input, args, kwargs):
            return op(input, *args, **kwargs)

        wanted = program(sample.input, sample.args, sample.kwargs)
        result = torch.compile(program)(sample.input, sample.args, sample.kwargs)
        rough = {"rtol": 1e-2, "atol": 1e-3} if dtype == torch.float16 else {"rtol": 1e-4, "atol": 1e-5}
        for value, reference in zip(torch.utils._pytree.tree_leaves(result), torch.utils._pytree.tree_leaves(wanted), strict=True):
            if isinstance(reference, torch.Tensor):
                torch.testing.assert_close(value, reference, equal_nan=True, **rough)
