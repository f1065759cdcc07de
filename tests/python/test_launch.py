"""Launches: grids, arguments by name and by default, results, and refusals."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl


def test_tuple_and_list_grids(scale, numbers):
    out = np.zeros_like(numbers)
    scale[(4,)](numbers, out, 200, 2.0)
    np.testing.assert_array_equal(out, 2 * numbers)
    out[:] = 0
    scale[[4, 1, 1]](numbers, out, 200, 2.0)
    np.testing.assert_array_equal(out, 2 * numbers)


def test_callable_grid_sees_all_arguments(scale, numbers):
    seen = {}

    def grid(meta):
        seen.update(meta)
        return (triton.cdiv(meta["n"], meta["BLOCK"]),)

    out = np.zeros_like(numbers)
    scale[grid](numbers, out, n=200, factor=3.0)
    assert set(seen) == {"x_ptr", "out_ptr", "n", "factor", "BLOCK"}
    assert seen["x_ptr"] is numbers and seen["n"] == 200 and seen["BLOCK"] == 64
    np.testing.assert_array_equal(out, 3 * numbers)


def test_arguments_by_keyword_and_default(scale, numbers):
    out = np.zeros_like(numbers)
    scale[(2,)](factor=0.5, BLOCK=128, n=200, out_ptr=out, x_ptr=numbers)
    np.testing.assert_array_equal(out, numbers / 2)


def test_one_kernel_called_in_many_ways(scale, numbers):
    """The assignment of keywords to parameters is remembered for each form of call, and the forms must not be confused."""
    out = np.zeros_like(numbers)
    for number in range(3):
        for factor, call in [
            (2.0, lambda grid: scale[grid](numbers, out, 200, 2.0)),
            (3.0, lambda grid: scale[grid](numbers, out, n=200, factor=3.0)),
            (4.0, lambda grid: scale[grid](numbers, out, factor=4.0, n=200)),
            (5.0, lambda grid: scale[grid](numbers, out, 200, 5.0, num_warps=8)),
            (6.0, lambda grid: scale[grid](numbers, out, 200, 6.0, BLOCK=128)),
            (7.0, lambda grid: scale[grid](numbers, out, 200, factor=7.0, num_stages=2, BLOCK=32)),
            (8.0, lambda grid: scale[grid](numbers, out, 200, **{"fac" + "tor": 8.0})),
        ]:
            call((8,))
            np.testing.assert_array_equal(out, np.float32(factor) * numbers)
    launcher = scale[(8,)]
    for factor in (1.5, 2.5):
        launcher(numbers, out, 200, factor)
        np.testing.assert_array_equal(out, np.float32(factor) * numbers)
    for wrong, error in [((numbers, out, 200), TypeError), ((numbers, out, 200, 2.0, 64, 1), TypeError), ((object(), out, 200, 2.0), TypeError)]:
        with pytest.raises(error):
            launcher(*wrong)
    with pytest.raises(TypeError):
        launcher(numbers, out, 200, 2.0, n=200)
    with pytest.raises(KeyError, match="unrecognised"):
        launcher(numbers, out, 200, 2.0, wrong=1)
    with pytest.raises(TypeError, match="grid"):
        scale[None]


def test_run_and_warmup(scale, numbers):
    out = np.zeros_like(numbers)
    kernel = scale.warmup(numbers, out, 200, 2.0, grid=(4,))
    assert not out.any(), "a warm-up does not run"
    assert scale.run(numbers, out, 200, 2.0, grid=(4,), warmup=False) is kernel
    np.testing.assert_array_equal(out, 2 * numbers)


def test_warmup_takes_dtypes(scale):
    kernel = scale.warmup(tl.float32, tl.float32, 200, 2.0, grid=(1,))
    assert "x_ptr=*fp32" in kernel.signature


def test_compiled_kernel(scale, numbers):
    out = np.zeros_like(numbers)
    kernel = scale[(4,)](numbers, out, 200, 2.0, num_warps=8)
    assert "tt.func public @scale_kernel" in kernel.asm["ttir"]
    assert kernel.asm["obj"].startswith(b"\x7fELF")
    assert "define" in kernel.asm["llir"] and "ret" in kernel.asm["asm"]
    assert "ttgir" not in kernel.asm and kernel.asm.get("ptx") is None
    with pytest.raises(KeyError):
        kernel.asm["cubin"]
    assert kernel.metadata.num_warps == 8 and kernel.metadata.target.backend == "cpu"
    out[:] = 0
    kernel[(4,)](numbers, out, 200, 5.0, 64)
    np.testing.assert_array_equal(out, 5 * numbers)


def test_grid_must_be_a_tuple(scale, numbers):
    for grid in (4, "4", None, lambda meta: 4):
        with pytest.raises(TypeError, match="grid must be a tuple or a callable returning one"):
            scale[grid](numbers, numbers.copy(), 200, 2.0)
    with pytest.raises(ValueError, match="one to three extents"):
        scale[(1, 1, 1, 1)](numbers, numbers.copy(), 200, 2.0)
    with pytest.raises(TypeError, match="ints"):
        scale[(1.5,)](numbers, numbers.copy(), 200, 2.0)
    with pytest.raises(ValueError):
        scale[(-1,)](numbers, numbers.copy(), 200, 2.0)


def test_empty_grid_runs_nothing(scale, numbers):
    out = np.zeros_like(numbers)
    scale[(0,)](numbers, out, 200, 2.0)
    assert not out.any()


def test_wrong_arguments(scale, numbers):
    with pytest.raises(KeyError, match="Keyword argument nonsense was specified but unrecognised"):
        scale[(1,)](numbers, numbers.copy(), 200, 2.0, nonsense=1)
    with pytest.raises(TypeError, match="factor"):
        scale[(1,)](numbers, numbers.copy(), 200)
    with pytest.raises(TypeError, match="takes 5 arguments, but 6"):
        scale[(1,)](numbers, numbers.copy(), 200, 2.0, 64, 7)
    with pytest.raises(TypeError, match="twice"):
        scale[(1,)](numbers, numbers.copy(), 200, 2.0, n=3)
    with pytest.raises(TypeError, match="failed to specialize argument of type: object"):
        scale[(1,)](object(), numbers.copy(), 200, 2.0)
    with pytest.raises(TypeError):
        scale[(1,)](numbers, numbers.copy(), "200", 2.0)
    with pytest.raises(TypeError, match="BLOCK"):
        scale[(1,)](numbers, numbers.copy(), 200, 2.0, BLOCK=numbers)
    with pytest.raises(OverflowError):
        scale[(1,)](numbers, numbers.copy(), 2**70, 2.0)


def test_wrong_options(scale, numbers):
    with pytest.raises(ValueError, match="power of 2"):
        scale[(1,)](numbers, numbers.copy(), 200, 2.0, num_warps=3)
    with pytest.raises(TypeError, match="num_stages"):
        scale[(1,)](numbers, numbers.copy(), 200, 2.0, num_stages="many")


@pytest.mark.parametrize("option", ["num_warps", "num_ctas", "num_stages", "maxnreg", "num_threads"])
def test_options_that_are_too_wide(scale, numbers, option):
    for value in (2**63, -2**70):
        with pytest.raises(OverflowError, match=f"'{option}' does not fit in 64 bits: {value}"):
            scale[(1,)](numbers, numbers.copy(), 200, 2.0, **{option: value})
    if option != "num_threads":
        types = {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "factor": "fp32", "BLOCK": "constexpr"}
        source = triton.compiler.ASTSource(scale, types, {"BLOCK": 32})
        with pytest.raises(OverflowError, match=f"'{option}' does not fit in 64 bits"):
            triton.compile(source, options={option: 2**63})
        with pytest.raises(TypeError, match=f"'{option}' is an int"):
            triton.compile(source, options={option: "many"})


def test_calling_a_kernel_without_a_grid(scale, numbers):
    with pytest.raises(RuntimeError, match="is code for a kernel: launch it"):
        scale(numbers, numbers, 200, 2.0)


def test_pre_run_hooks_and_launch_hooks(numbers):
    @triton.jit
    def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)

    calls, out = [], np.zeros_like(numbers)
    kernel.add_pre_run_hook(lambda *args, **kwargs: calls.append(("pre", len(args), kwargs["BLOCK"])))
    enter = lambda metadata: calls.append(("enter", metadata.get()["name"]))
    triton.knobs.runtime.launch_enter_hook.add(enter)
    try:
        kernel[(1,)](numbers, out, 200, BLOCK=256)
    finally:
        triton.knobs.runtime.launch_enter_hook.remove(enter)
    assert calls == [("pre", 3, 256), ("enter", "kernel")]
    np.testing.assert_array_equal(out, numbers)


def test_variadic_and_tuple_arguments():
    @triton.jit
    def kernel(out_ptr, pair, *values):
        total = pair[0] * 100 + pair[1]
        for i in tl.static_range(len(values)):
            total += values[i]
        tl.store(out_ptr, total)

    out = np.zeros(1, np.int32)
    kernel[(1,)](out, (3, 4), 10, 20, 30)
    assert out[0] == 364


def test_num_threads(scale, numbers):
    out = np.zeros_like(numbers)
    scale[(4,)](numbers, out, 200, 2.0, num_threads=1)
    np.testing.assert_array_equal(out, 2 * numbers)
    with pytest.raises(ValueError):
        scale[(4,)](numbers, out, 200, 2.0, num_threads=-1)


def test_parameters_are_visible(scale):
    assert scale.arg_names == ["x_ptr", "out_ptr", "n", "factor", "BLOCK"]
    assert [param.is_constexpr for param in scale.params] == [False] * 4 + [True]
    assert scale.params[4].default == 64
    assert len(scale.cache_key) == 64
    assert scale.src.startswith("def scale_kernel(")


def test_annotations_fix_types():
    @triton.jit
    def kernel(out_ptr, n: tl.int64, m: "i64", k):
        tl.store(out_ptr, n.dtype.primitive_bitwidth)
        tl.store(out_ptr + 1, m.dtype.primitive_bitwidth)
        tl.store(out_ptr + 2, k.dtype.primitive_bitwidth)

    out = np.zeros(3, np.int32)
    kernel[(1,)](out, 1, 5, 5)
    assert list(out) == [64, 64, 32]


def test_specialization_lists():

    @triton.jit(do_not_specialize=["BLOCK"])
    def wrong(x_ptr, BLOCK: tl.constexpr):
        pass

    with pytest.raises(triton.CompilationError, match="marked as constexpr and listed in do_not_specialize"):
        wrong[(1,)](np.zeros(1, np.int32), 16)

    @triton.jit(do_not_specialize=["n"])
    def kernel(out_ptr, n):
        tl.store(out_ptr, n)

    out = np.zeros(1, np.int32)
    kernels = {kernel[(1,)](out, n) for n in (1, 16, 17)}
    assert len(kernels) == 1 and out[0] == 17


def test_the_name_that_repr_gives():
    def named(specialization):
        types = "_".join(f"{name}.{word.replace('*', 'p')}" for name, word in specialization.signature.items())
        return f"kernel_{types}_{specialization.constants}"

    @triton.jit(repr=named)
    def kernel(x, n, one, BLOCK: tl.constexpr, ACT: tl.constexpr):
        pass

    made = kernel.warmup(np.zeros(4, np.float32), 2**40, 1, BLOCK=8, ACT="re,lu", grid=(1,))
    assert made.name == ("kernel_x.pfp32_n.i64_one.constexpr_BLOCK.constexpr_ACT.constexpr_"
                         "{'one': 1, 'BLOCK': 8, 'ACT': 're,lu'}")
