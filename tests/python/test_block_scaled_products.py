"""Matmuls of block-scaled numbers for comparison with kernels (nvidia.cublas.CublasLt): the calls of cuBLAS, on a library that records them, and on the machine's
own where there is one; and those of tensors of the CPU."""

import contextlib
import ctypes
import ctypes.util

import pytest
from tilewright._C.libtriton import block_scaled
from tilewright._C.libtriton.block_scaled import MXFP8, NVFP4, Lt

ADDRESSES = dict(a=0xA00, b=0xB00, c=0xC00, a_scales=0xA50, b_scales=0xB50)


class Recorder:
    """A library whose functions record their names and arguments. `fails`: {name: status}."""

    def __init__(self, version=130100, algorithms=1, fails=None):
        self.calls, self.fails, self.algorithms, self.alive = [], fails or {}, algorithms, 0
        self.cublasLtGetVersion = lambda: version

    def __getattr__(self, name):
        def call(*arguments):
            self.calls.append((name, [getattr(getattr(each, "_obj", each), "value", None) for each in arguments]))
            if name.endswith("Create"):
                self.alive += 1
                arguments[0]._obj.value = len(self.calls)
            self.alive -= name.endswith("Destroy")
            if name == "cublasLtMatmulAlgoGetHeuristic":
                arguments[-1]._obj.value = self.algorithms
            return self.fails.get(name, 0)
        if name.startswith("cublasLt"):
            return call
        raise AttributeError(name)

    def of(self, name):
        return [arguments for called, arguments in self.calls if called == name]


def multiply(library, form, m=256, n=384, k=512):
    Lt(library).multiply(form, m, n, k, *ADDRESSES.values(), 0xE00, 4096, 7)


@pytest.mark.parametrize("form, data_type, mode", [(NVFP4, 33, 1), (MXFP8, 28, 2)])
def test_calls(form, data_type, mode):
    """Lt's matrices have contiguous columns: the second operand is its first, and the result has N rows."""
    library = Recorder()
    multiply(library, form)
    attributes = {arguments[1]: arguments[2] for arguments in library.of("cublasLtMatmulDescSetAttribute")}
    assert attributes == {3: 1, 4: 0, 17: ADDRESSES["b_scales"], 18: ADDRESSES["a_scales"], 31: mode, 32: mode}
    layouts = [arguments[1:] for arguments in library.of("cublasLtMatrixLayoutCreate")]
    assert layouts == [[data_type, 512, 384, 512], [data_type, 512, 256, 512], [2, 384, 256, 384]]
    (call,) = library.of("cublasLtMatmul")
    assert [call[3], call[5], call[8], call[10]] == [ADDRESSES["b"], ADDRESSES["a"], ADDRESSES["c"], ADDRESSES["c"]]
    assert (call[2], call[7]) == (1, 0) and call[13:] == [0xE00, 4096, 7]
    assert library.alive == 1  # the handle


@pytest.mark.parametrize("library, message", [
    (Recorder(version=120600), "block scales need cuBLAS 12.8 or newer; version 120600"),
    (Recorder(algorithms=0), "no algorithm for nvfp4 of 256x384x512"),
    (Recorder(fails={"cublasLtMatmulAlgoGetHeuristic": 15}), "no algorithm for nvfp4 of 256x384x512"),
    (Recorder(fails={"cublasLtMatmul": 13}), "cuBLAS: cublasLtMatmul returned status 13"),
])
def test_errors(library, message):
    with pytest.raises(RuntimeError, match=message):
        multiply(library, NVFP4)
    assert library.alive <= 1


@pytest.mark.parametrize("form", [NVFP4, MXFP8])
def test_the_library_takes_the_attributes(form):
    """Descriptions and layouts need no GPU."""
    names = filter(None, ["libcublasLt.so.13", "libcublasLt.so.12", ctypes.util.find_library("cublasLt"), "/usr/local/cuda/lib64/libcublasLt.so"])
    library = None
    for name in names:
        with contextlib.suppress(OSError):
            library = library or ctypes.CDLL(name)
    if library is None:
        pytest.skip("there is no cuBLAS")
    lt = Lt(library)
    with contextlib.ExitStack() as stack:
        description = lt.describe(stack, 1, 0, 0x1000, 0x2000, form)
        for attribute, kind, expected in ((31, ctypes.c_int32, form.scale_mode), (18, ctypes.c_uint64, 0x2000)):
            found, size = kind(), ctypes.c_size_t()
            lt.call("cublasLtMatmulDescGetAttribute", description, ctypes.c_int(attribute), ctypes.byref(found), ctypes.c_size_t(ctypes.sizeof(found)), ctypes.byref(size))
            assert found.value == expected
        assert lt.layout(stack, form.data_type, 512, 256)


def inputs(form, m=200, n=72, k=192, seed=0):
    torch = pytest.importorskip("torch")
    generator = torch.Generator().manual_seed(seed)
    bits = lambda rows: torch.randint(0, 256, (rows, k // form.packed), generator=generator, dtype=torch.int32).to(torch.uint8)
    a, b = bits(m), bits(n)
    if form is MXFP8:
        a, b = (torch.where(x % 128 == 127, 0x38, x).to(torch.uint8).view(torch.float8_e4m3fn) for x in (a, b))
    groups = -(-(k // form.group) // 4)
    low, high = (0x30, 0x50) if form is NVFP4 else (108, 114)
    scales = [torch.randint(low, high, (-(-rows // 128), groups, 32, 4, 4), generator=generator, dtype=torch.int32).to(torch.uint8) for rows in (m, n)]
    return a, b, torch.full((m, n), torch.nan, dtype=torch.float16), *scales


def value(form, x, scales, row, column):
    """A number with its scale, from the definitions of the formats and of the order of scales."""
    import ml_dtypes
    import numpy as np
    byte = x.view(dtype=pytest.importorskip("torch").uint8).numpy()[row, column // form.packed]
    if form is NVFP4:
        number = np.uint8(byte >> 4 * (column % 2) & 15).view(ml_dtypes.float4_e2m1fn)
    else:
        number = byte.view(ml_dtypes.float8_e4m3fn)
    group = column // form.group
    scale = scales.numpy()[row // 128, group // 4, row % 32, row // 32 % 4, group % 4]
    return float(number) * float(scale.view(ml_dtypes.float8_e4m3fn if form is NVFP4 else ml_dtypes.float8_e8m0fnu))


def test_tensors_of_the_cpu():
    import numpy as np
    pytest.importorskip("torch")
    from tilewright._C.libtriton import nvidia
    for form, name in ((NVFP4, "block_scaled_matmul_nvfp4"), (MXFP8, "block_scaled_matmul_mxfp8")):
        a, b, c, a_scales, b_scales = inputs(form)
        getattr(nvidia.cublas.CublasLt(None), name)(a, b, c, a_scales.flatten(), b_scales)
        for row, column in ((0, 0), (199, 71), (130, 33), (37, 64)):
            terms = [value(form, a, a_scales, row, k) * value(form, b, b_scales, column, k) for k in range(192)]
            np.testing.assert_allclose(float(c[row, column]), np.float16(sum(terms)), atol=2e-3 * max(map(abs, terms)), rtol=2e-3)


WRONG_TENSORS = (
    (lambda a, b, c, s, t: (a, b[:, :64].contiguous(), c, s, t), "A has rows of 96 elements, and B of 64"),
    (lambda a, b, c, s, t: (a, b, c[:, :64].contiguous(), s, t), "the result must be 200x72, not 200x64"),
    (lambda a, b, c, s, t: (a, b, c.float(), s, t), "the result must be float16"),
    (lambda a, b, c, s, t: (a.int(), b, c, s, t), "A and B must be uint8"),
    (lambda a, b, c, s, t: (a.T, b, c, s, t), "A must be contiguous"),
    (lambda a, b, c, s, t: (a, b, c, s[:1], t), "A needs 3072 scales"),
    (lambda a, b, c, s, t: (a, b, c, s.int(), t), "the scales of A must be float8_e4m3fn or uint8"),
    (lambda a, b, c, s, t: (a, b, c, s | 128, t), "a scale of ue4m3 has a sign"),
)


def test_wrong_tensors():
    pytest.importorskip("torch")
    for change, message in WRONG_TENSORS:
        with pytest.raises(ValueError, match=message):
            block_scaled.multiply(NVFP4, *change(*inputs(NVFP4)), None)
