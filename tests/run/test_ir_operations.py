"""Operations of IR text that the front end does not emit: each engine runs a kernel whose IR a file replaces."""

import math

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl

N = 64
DTYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i32": np.int32}


@triton.jit
def kernel(x_ptr, y_ptr, out_ptr):
    tl.store(out_ptr, tl.load(x_ptr) + tl.load(y_ptr))


def text(body, type, count):
    tile, pointers = f"tensor<{count}x{type}>", f"tensor<{count}x!tt.ptr<{type}>>"
    lines = [f"tt.func public @kernel(%x_ptr: !tt.ptr<{type}>, %y_ptr: !tt.ptr<{type}>, %out_ptr: !tt.ptr<{type}>) {{",
             f"%i = tt.make_range {{end = {count} : i32, start = 0 : i32}} : tensor<{count}xi32>"]
    for name in ("x", "y", "out"):
        lines += [f"%{name}s = tt.splat %{name}_ptr : !tt.ptr<{type}> -> {pointers}",
                  f"%{name}p = tt.addptr %{name}s, %i : {pointers}, tensor<{count}xi32>"]
    lines += [f"%x = tt.load %xp : {pointers}", f"%y = tt.load %yp : {pointers}", body.replace("@T@", tile), f"tt.store %outp, %r : {pointers}"]
    return "\n".join([*lines, "tt.return", "}"])


def call(tmp_path, body, type, x, y):
    path = tmp_path / "kernel.ttir"
    path.write_text(text(body, type, x.size))
    out = np.zeros(x.size, DTYPES[type])
    kernel[(1,)](x.astype(DTYPES[type]), y.astype(DTYPES[type]), out, ir_override=path)
    return out


def numbers(seed):
    return np.random.default_rng(seed).uniform(-8, 8, N)


FUNCTIONS = {
    "expm1": np.expm1, "log10": np.log10, "log1p": np.log1p, "tanh": np.tanh, "trunc": np.trunc, "roundeven": np.rint, "floor": np.floor,
    "ceil": np.ceil, "absf": np.abs, "erf": np.vectorize(math.erf), "rsqrt": lambda x: 1 / np.sqrt(x), "exp2": np.exp2,
}


@pytest.mark.parametrize("type", ["f16", "f32", "f64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(tmp_path, name, type):
    x = np.abs(numbers(1)) + 0.25 if name in ("log10", "log1p", "rsqrt") else numbers(1)
    x = x.astype(DTYPES[type])
    out = call(tmp_path, f"%r = math.{name} %x : @T@", type, x, x)
    rtol = {"f16": 2e-3, "f32": 4e-6, "f64": 1e-13}[type]
    np.testing.assert_allclose(out, FUNCTIONS[name](x.astype(np.float64)), rtol=rtol, atol=rtol / 16)


INTEGERS = {
    "ceildivsi": lambda x, y: -(-x // y), "floordivsi": lambda x, y: x // y, "minsi": np.minimum, "maxui": lambda x, y: np.maximum(x.view(np.uint32), y.view(np.uint32)),
    "ceildivui": lambda x, y: -(-x.view(np.uint32).astype(np.int64) // y),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(tmp_path, name):
    rng = np.random.default_rng(2)
    x, y = rng.integers(-1000, 1000, N, dtype=np.int32), rng.integers(1, 9, N, dtype=np.int32)
    y = y if name.endswith("ui") else y * rng.choice([-1, 1], N).astype(np.int32)
    out = call(tmp_path, f"%r = arith.{name} %x, %y : @T@", "i32", x, y)
    np.testing.assert_array_equal(out, INTEGERS[name](x, y).astype(np.int64).astype(np.int32))


@pytest.mark.parametrize("type", ["f16", "f32", "f64"])
def test_remainder_of_floats(tmp_path, type):
    x, y = numbers(3).astype(DTYPES[type]), numbers(4).astype(DTYPES[type])
    np.testing.assert_array_equal(call(tmp_path, "%r = arith.remf %x, %y : @T@", type, x, y), np.fmod(x, y))


def test_a_region_that_is_executed_once(tmp_path):
    x, y = numbers(5).astype(np.float32), numbers(6).astype(np.float32)
    body = "%r = scf.execute_region -> @T@ {\n%d = arith.subf %x, %y : @T@\nscf.yield %d : @T@\n}"
    np.testing.assert_array_equal(call(tmp_path, body, "f32", x, y), x - y)


@pytest.mark.parametrize("count", [2, N, 2048])
def test_a_constant_tile_of_different_elements(tmp_path, count):
    table = np.random.default_rng(7).integers(-100, 100, count, dtype=np.int32)
    body = f"%t = arith.constant dense<[{', '.join(map(str, table))}]> : @T@\n%r = arith.addi %x, %t : @T@"
    x = np.arange(count, dtype=np.int32)
    np.testing.assert_array_equal(call(tmp_path, body, "i32", x, x), x + table)


def test_poison_has_some_value(tmp_path):
    x = np.arange(N, dtype=np.int32)
    body = "%p = ub.poison : @T@\n%c = arith.constant dense<7> : @T@\n%o = arith.ori %p, %c : @T@\n%r = arith.andi %o, %c : @T@"
    out = call(tmp_path, body, "i32", x, x)
    assert ((out >= 0) & (out <= 7)).all()
