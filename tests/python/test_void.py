"""tl.void is the type of nothing: pointers to it are passed and converted, and whatever would need its elements is refused by name."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl


@triton.jit
def converted_kernel(x_ptr, out_ptr):
    at = tl.arange(0, 16)
    anything = x_ptr.to(tl.pointer_type(tl.void))
    tl.store(out_ptr + at, tl.load(anything.to(tl.pointer_type(tl.float32)) + at))


def test_a_pointer_to_void_is_converted():
    x, out = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    converted_kernel[(1,)](x, out)
    np.testing.assert_array_equal(out, x)


USES = {
    "tl.full((16,), 0, tl.void)": "cannot be converted to void",
    "tl.zeros((16,), tl.void)": "cannot be converted to void",
    "tl.load(x).to(tl.void)": "cannot be converted to void",
    "tl.cast(1, tl.void)": "void",
    "tl.cast(tl.load(x + at), tl.void, bitcast=True)": "void",
    "tl.void(1)": "void",
    "tl.full((16,), tl.load(x), tl.void)": "cannot be converted to void",
    "tl.load(p)": "tl.load needs a pointer, not pointer<void>",
    "tl.load(p, mask=True, other=0)": "tl.load needs a pointer, not pointer<void>",
    "tl.store(p, 1)": "tl.store needs a pointer, not pointer<void>",
    "tl.atomic_add(p, 1)": "tl.atomic_add needs a pointer, not pointer<void>",
    "tl.atomic_cas(p, 1, 2)": "tl.atomic_cas needs a pointer, not pointer<void>",
    "p + 1": "pointer<void>",
    "p - 1": "pointer<void>",
    "tl.make_block_ptr(p, (16,), (1,), (0,), (16,), (0,))": "make_block_ptr needs a pointer, not pointer<void>",
    "tl.make_tensor_descriptor(p, [16], [1], [16])": "make_tensor_descriptor needs a pointer, not pointer<void>",
    "tl.sum(tl.load(x + at), 0, dtype=tl.void)": "void",
    "tl.dot(tl.zeros((16, 16), tl.float32), tl.zeros((16, 16), tl.float32), out_dtype=tl.void)": "void",
    "tl.load(x.to(tl.pointer_type(tl.pointer_type(tl.void)))).to(tl.void)": "void",
    "tl.inline_asm_elementwise('', '=r,r', [tl.load(x + at)], tl.void, True, 1)": "must be a dtype or a tuple of them",
    "tl.make_tensor_descriptor(x, [16], [1], [16]).load([0]).to(tl.void)": "void",
}


@pytest.mark.parametrize("use", USES)
def test_uses_are_refused(use, tmp_path):
    import importlib.util
    path = tmp_path / "kernel.py"
    path.write_text("import tilewright as triton\nimport tilewright.language as tl\n\n@triton.jit\ndef kernel(x):\n    at = tl.arange(0, 16)\n"
                    f"    p = x.to(tl.pointer_type(tl.void))\n    y = {use}\n")
    spec = importlib.util.spec_from_file_location("kernel", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(triton.CompilationError, match=USES[use].replace("(", "[(]").replace(")", "[)]")):
        module.kernel[(1,)](np.zeros(256, np.float32))
