"""Names that libraries import from inside Triton's package: what they compute."""

import itertools
import random
import types

import numpy as np
import pytest

import tilewright

tilewright.install()

import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from triton import _utils  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.backends.nvidia import compiler as nvidia, driver as nvidia_driver  # noqa: E402
from triton.runtime import jit  # noqa: E402
from triton.runtime.autotuner import OutOfResources  # noqa: E402
from triton.tools import LinearLayout  # noqa: E402


@triton.jit
def inner(x):
    return x + 1


@triton.jit
def add(x_ptr, n, pair, BLOCK: tl.constexpr, function: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, function(at) + pair[0], mask=at < n)


def test_least_dots():
    smallest = nvidia.min_dot_size(GPUTarget("cuda", 90, 32))
    assert [smallest(kind, kind) for kind in (tl.float8e5, tl.float16, tl.float32, tl.float64)] == [(1, 1, 32), (1, 1, 16), (1, 1, 8), (1, 1, 4)]
    assert smallest(tl.block_type(tl.int8, [16, 16]), tl.int8) == (1, 1, 32)
    with pytest.raises(AssertionError, match="16 and 32 bits"):
        smallest(tl.float16, tl.float32)


def test_options_and_versions():
    options = nvidia.CUDAOptions(num_warps=8, extern_libs={"a": "b.bc"})
    assert (options.num_warps, options.backend_name, options.extern_libs, options.num_stages) == (8, "cuda", (("a", "b.bc"),), 3)
    assert options.hash() != nvidia.CUDAOptions(num_warps=4).hash() == nvidia.CUDAOptions().hash()
    with pytest.raises(AssertionError, match="num_warps must be a power of 2"):
        nvidia.CUDAOptions(num_warps=3)
    backend = triton.compiler.make_backend(GPUTarget("cuda", 90, 32))
    assert isinstance(backend.parse_options({"num_warps": 2, "unknown": 1}), nvidia.CUDAOptions)
    assert [nvidia.ptx_get_version(cuda) for cuda in ("10.2", "11.8", "12.0", "12.5", "12.6", "12.8", "13.0", "13.2")] == [65, 78, 80, 85, 85, 87, 90, 92]
    with pytest.raises(RuntimeError, match="9.2 is too old"):
        nvidia.ptx_get_version("9.2")
    assert nvidia.get_features(nvidia.CUDAOptions(ptx_version=85), 90) == "+ptx85"
    assert [nvidia.sm_arch_from_capability(number) for number in (80, 90, 100)] == ["sm_80", "sm_90a", "sm_100a"]


def test_statistics_of_times():
    summarize = triton.testing._summarize_statistics
    times = [3.0, 1.0, 2.0, 6.0]
    assert summarize(times, None, "all") == times and times == [3.0, 1.0, 2.0, 6.0]
    assert [summarize(times, None, mode) for mode in ("min", "max", "mean", "median")] == [1, 6, 3, 2.5]
    assert summarize(times, [0.5], "mean") == 2.5 and summarize(times, (0.0, 0.5, 1.0), "mean") == [1, 2.5, 6]


def test_paths():
    nested = [1, (2, [3, ()]), "4"]
    assert jit.find_paths_if(nested, lambda path, member: True) == [(0,), (1, 0), (1, 1, 0), (2,)]
    assert jit.find_paths_if(5, lambda path, member: member == 5) == [()]
    assert jit.get_iterable_path(nested, (1, 1, 0)) == 3 and jit.get_iterable_path(nested, ()) is nested
    values = tl.tuple([1, tl.tuple([2, 3])])
    assert _utils.find_paths_if(values, lambda path, member: member > 1) == [(1, 0), (1, 1)]
    _utils.set_iterable_path(values, (1, 0), 9)
    assert _utils.get_iterable_path(values, (1, 0)) == 9
    with pytest.raises(TypeError, match="no member of a tl.tuple"):
        _utils.set_iterable_path([1], (0,), 2)
    seen = []
    _utils.apply_with_path(values, lambda path, member: seen.append((path, member)))
    assert seen == [((0,), 1), ((1, 0), 9), ((1, 1), 3)]


def test_element_types_and_shapes():
    assert _utils.canonicalize_dtype("torch.float32") == "fp32" and _utils.canonicalize_ptr_dtype(tl.int8, True) == "*ki8"
    assert [_utils.get_primitive_bitwidth(word) for word in ("fp16", "bf16", "i1", "fp8e5", "u64", "float32")] == [16, 16, 1, 8, 64, 32]
    assert set(_utils.BITWIDTH_DICT) == set(_utils.type_canonicalisation_dict)
    assert [number for number in range(-2, 20) if _utils.is_power_of_two(number)] == [1, 2, 4, 8, 16]
    assert _utils.validate_block_shape([4, 8]) == 32
    for shape, error in [([4.0], TypeError), ([3], ValueError), ([0], ValueError), ([1 << 12, 1 << 12], ValueError)]:
        with pytest.raises(error):
            _utils.validate_block_shape(shape)


def test_keys_of_specializations():
    """A key names types, constants, the sources of functions, and options; two calls that would compile the same code have one key."""
    cache, key_cache, target, backend, binder = add.device_caches[0]
    x = np.zeros(16, np.int32)

    def key(*arguments, **options):
        _, specialization, given = binder(*arguments, **options)
        return jit.compute_cache_key(key_cache, specialization, given)

    first = key(x, 5, (3, 4), 16, inner)
    assert first == key(x, 7, (5, 6), 16, inner) and inner.cache_key in first
    others = [key(x, 16, (3, 4), 16, inner), key(x, 5, (3, 4), 32, inner), key(x.astype(np.int64), 5, (3, 4), 16, inner), key(x, 5, (1, 4), 16, inner),
              key(x, 5, (3, 4), 16, inner, num_warps=8)]
    assert len({first, *others}) == 6 and len(key_cache) >= 6
    assert jit.compute_cache_key({}, [("i32", "")], {"num_warps": 4}) != jit.compute_cache_key({}, [("i32", "D")], {"num_warps": 4})


def test_compilation_without_a_launch():
    """As tuners do it that compile in a process of their own."""
    cache, key_cache, target, backend, binder = add.device_caches[0]
    x = np.zeros(16, np.int32)
    bound, specialization, given = binder(x, 5, (3, 4), 16, inner, num_warps=2)
    options, signature, constants, attributes = add._pack_args(backend, {"num_warps": 2}, bound, specialization, given)
    assert options.num_warps == 2 and signature == {"x_ptr": "*i32", "n": "i32", "pair": ("i32", "i32"), "BLOCK": "constexpr", "function": "constexpr"}
    assert constants == {(3,): 16, (4,): inner}
    kernel = add.compile(add.ASTSource(add, signature, constants, attributes), target=target, options=vars(options))
    assert isinstance(kernel, add.CompiledKernel)
    cache["mine"] = kernel
    assert cache["mine"] is kernel and "mine" in add.device_caches[0][0]
    kernel[(1, 1, 1)](x, 5, (3, 4), 16, inner)
    np.testing.assert_array_equal(x, [4, 5, 6, 7, 8] + 11 * [0])
    with pytest.raises(KeyError, match="wrong was specified but unrecognised"):
        add._pack_args(backend, {"wrong": 1}, bound, specialization, given)
    cache.clear()
    assert "mine" not in add.device_caches[0][0]


def test_serialized_specializations(monkeypatch):
    target = GPUTarget("cpu", "avx2", 1)
    text = jit.serialize_specialization_data("m.k", {"x": "*fp32", "p": ("i32", "fp32")}, {(1,): tl.constexpr((2, 3)), (2,): tl.float16, (3,): inner, (4,): "a"},
                                             {(0,): [["tt.divisibility", 16]]}, types.SimpleNamespace(num_warps=4), "key", target)
    import json
    told = json.loads(text)
    assert told["constant_keys"] == [[1], [2], [3], [4]] and told["constant_vals"][0] == {"constexpr": [2, 3]} and told["constant_vals"][3] == "a"
    assert told["attrs_keys"] == [[0]] and told["options"] == {"num_warps": 4} and told["target"] == vars(target)
    assert jit.convert_to_tuple_if_list([1, [2, [3]]]) == (1, (2, (3,)))
    # A library may put a function of its own in the place of this one, as vLLM does.
    calls = []
    original = jit.serialize_specialization_data
    monkeypatch.setattr(jit, "serialize_specialization_data", lambda *given: calls.append(original(*given)) or calls[-1])
    hooked = []
    monkeypatch.setattr(triton.knobs.runtime, "jit_post_compile_hook", lambda **told: hooked.append(told["compile"]["specialization_data"]))
    add.device_caches.clear()
    kernel = add[(1,)](np.zeros(16, np.int32), 5, (3, 4), 16, inner)
    assert calls and hooked == calls[-1:]
    add.device_caches.clear()
    assert add.preload(hooked[0]).hash == kernel.hash


def test_the_source_as_a_tree():
    tree = add.parse()
    assert tree.body[0].name == "add" and [argument.arg for argument in tree.body[0].args.args] == add.arg_names
    assert isinstance(add.type, tl.core.constexpr_type) and add.type.value is add


def test_the_extension_by_upstreams_name():
    from triton._C import libtriton
    assert libtriton.native_specialize_impl is jit.native_specialize_impl and libtriton.linear_layout.LinearLayout is LinearLayout
    backend = type(triton.compiler.make_backend(GPUTarget("cuda", 90, 32)))
    assert libtriton.native_specialize_impl(backend, 16, False, True, True) == ("i32", "D")
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        libtriton.nothing


def test_arguments_of_descriptors(monkeypatch):
    x = np.zeros((8, 16), np.float32)
    descriptor = triton.tools.tensor_descriptor.TensorDescriptor(types.SimpleNamespace(data_ptr=lambda: 4096, dtype=tl.float32), [8, 16], [16, 1], [4, 16])
    assert nvidia_driver.make_tensordesc_arg(descriptor, None) == [descriptor.base, 8, 16, 16, 1, False, False, 8, 16, 16, 1]
    asked = []
    fake = types.SimpleNamespace(cuTensorMapEncodeTiled=lambda *given: asked.append([list(value) if hasattr(value, "__len__") else value.value for value in given]) or 0)
    monkeypatch.setattr(nvidia_driver, "_libcuda", lambda: fake)
    metadata = {"swizzle": 3, "elem_size": 4, "elem_type": 7, "block_size": [4, 64], "fp4_padded": False}
    made, *rest = nvidia_driver.make_tensordesc_arg(descriptor, metadata, None)
    assert rest == [8, 16, 16, 1] and made.address % 64 == 0 and len(bytes(made)) == 128
    # map, type, rank, address, sizes, strides in bytes, box (128 bytes wide at most), steps, interleave, swizzle, promotion, padding
    assert asked[0] == [made.address, 7, 2, 4096, [16, 8], [64], [32, 4], [1, 1], 0, 3, 3, 0]
    fake.cuTensorMapEncodeTiled = lambda *given: 1
    with pytest.raises(RuntimeError, match="CUDA's error 1"):
        nvidia_driver.make_tensordesc_arg(descriptor, {**metadata, "elem_type": 8, "fp4_padded": True})
    assert nvidia_driver.ty_to_cpp("*fp32") == "CUdeviceptr" and [nvidia_driver.ty_to_cpp(word) for word in ("i1", "u16", "bf16", "nvTmaDesc")] == [
        "int8_t", "uint16_t", "double", "CUtensorMap"]
    assert x.any() == 0


# ---- linear layouts, against tables of all their values


def table(layout):
    """{inputs: results} over all inputs, in the order of the names."""
    extents = [1 << len(images) for _, images in layout.bases]
    names = layout.get_in_dim_names()
    return {inputs: tuple(layout.apply(dict(zip(names, inputs))).values()) for inputs in itertools.product(*map(range, extents))}


def some_layout(draw, inputs, outputs):
    bases = [(name, [[draw.randrange(size) for _, size in outputs] for _ in range(bits)]) for name, bits in inputs]
    return LinearLayout.from_bases(bases, [name for name, _ in outputs], [size for _, size in outputs], require_surjective=False)


@pytest.mark.parametrize("seed", range(40))
def test_linear_layouts(seed):
    draw = random.Random(seed)
    outputs = [("x", 1 << draw.randrange(3)), ("y", 1 << draw.randrange(3))]
    layout = some_layout(draw, [("a", draw.randrange(3)), ("b", draw.randrange(4))], outputs)
    values = table(layout)
    everything = outputs[0][1] * outputs[1][1]
    assert layout.is_surjective() == (len(set(values.values())) == everything)
    assert layout.is_injective() == (len(set(values.values())) == len(values)) and layout.is_invertible() == (layout.is_injective() and layout.is_surjective())
    outer = some_layout(draw, [(name, size.bit_length() - 1) for name, size in outputs], [("p", 4)])
    assert table(layout.compose(outer)) == {inputs: table(outer)[result] for inputs, result in values.items()}
    if layout.is_surjective():
        right = layout.pseudoinvert()
        assert all(values[inputs] == result for result, inputs in table(right).items())
        other = some_layout(draw, [("s", 3)], outputs)
        assert other.invert_and_compose(layout).compose(layout) == other
    if layout.is_invertible():
        assert {result: inputs for inputs, result in values.items()} == table(layout.invert())
    assert layout == LinearLayout.from_bases(layout.bases, *zip(*layout.out_dims), require_surjective=False) and hash(layout) == hash(layout.compose(
        LinearLayout.identity_1d(outputs[0][1], "x", "x") * LinearLayout.identity_1d(outputs[1][1], "y", "y")))


def test_multiplied_linear_layouts():
    rows = LinearLayout.identity_1d(4, "lane", "row")
    assert table(rows * LinearLayout.identity_1d(2, "lane", "col")) == {(lane,): (lane % 4, lane // 4) for lane in range(8)}
    assert table(rows * LinearLayout.identity_1d(2, "reg", "row")) == {(lane, reg): (lane + 4 * reg,) for lane in range(4) for reg in range(2)}
    assert table(LinearLayout.strided_1d(4, 2, "i", "o")) == {(i,): (2 * i,) for i in range(4)}
    assert table(LinearLayout.zeros_1d(4, "i", "o", 8)) == {(i,): (0,) for i in range(4)}
    assert str(rows) == "\n - lane=1 -> (1)\n   lane=2 -> (2)\nwhere out dims are: [row (size 4)]"
    assert rows.get_matrix_view() == [[1, 0], [0, 1]] and (rows.num_in_dims, rows.num_out_dims) == (1, 1)


def test_mistakes_in_linear_layouts():
    rows = LinearLayout.identity_1d(4, "lane", "row")
    for wrong in [lambda: LinearLayout.identity_1d(3, "i", "o"), lambda: LinearLayout.from_bases([("i", [[1], [1]])], ["o"], [4]),
                  lambda: LinearLayout.from_bases([("i", [[4]])], ["o"], [4], False), lambda: LinearLayout.from_bases([("i", [[1, 2]])], ["o"]),
                  lambda: LinearLayout.from_bases([("i", [[1]]), ("i", [[2]])], ["o"]), lambda: rows.apply({"warp": 0}), lambda: rows.apply({"lane": 4}),
                  lambda: rows.compose(rows), lambda: LinearLayout.zeros_1d(4, "i", "o", 2).invert(), lambda: rows.invert_and_compose(
                      LinearLayout.zeros_1d(4, "i", "row", 4))]:
        with pytest.raises(ValueError):
            wrong()


def test_errors_by_the_tuners_name():
    assert OutOfResources is triton.OutOfResources


def test_math_is_the_language_s_own():
    """PyTorch's generated code calls tl.math through a name of its own."""
    import tilewright.language as tl
    from tilewright.language import math as tl_math

    assert tl.math is tl_math
    assert repr(tl.math.cos) == "<function triton.language.cos>" or "triton.language" in tl.math.cos.__module__
