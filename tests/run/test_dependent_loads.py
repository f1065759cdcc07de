"""Random kernels in which loads depend on loads, sums and masks: their places, masks and values of masked-off elements."""

import importlib.util
import random

import numpy as np
import pytest

import tilewright

SIZE = 64


class Program:
    """Source text of a kernel, and what NumPy makes of the same statements."""

    def __init__(self, seed, arrays):
        self.choose, self.arrays = random.Random(seed), arrays
        self.lines, self.values = ["i = tl.arange(0, 64)"], {"i": np.arange(SIZE, dtype=np.int32)}

    def pick(self, tiles):
        return self.choose.choice([name for name, value in self.values.items() if bool(np.ndim(value)) == tiles])

    def add(self, text, value):
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.values[name] = np.int32(value) if np.ndim(value) == 0 else value.astype(np.int32)

    def step(self):
        kind = self.choose.choice(["load", "load", "masked", "where", "sum", "add", "scalar"])
        array, a, b = self.choose.choice("xy"), self.pick(True), self.pick(True)
        values, constant = self.values, self.choose.randrange(SIZE)
        source = self.arrays[array]
        if kind == "load":
            self.add(f"tl.load({array} + ({a} & 63))", source[values[a] & 63])
        elif kind == "masked":
            self.add(f"tl.load({array} + ({a} & 63), mask={b} <= {constant}, other={constant})",
                     np.where(values[b] <= constant, source[values[a] & 63], constant))
        elif kind == "where":
            self.add(f"tl.where({a} >= {constant}, {a}, {b})", np.where(values[a] >= constant, values[a], values[b]))
        elif kind == "sum":
            self.add(f"tl.sum({a}, 0)", values[a].sum(dtype=np.int32))
        elif kind == "scalar":
            self.add(f"tl.load({array} + {constant})", source[constant])
        else:
            other = self.pick(self.choose.random() < 0.5 or not any(np.ndim(value) == 0 for value in values.values()))
            self.add(f"{a} + {other}", values[a] + values[other])

    def text(self, steps):
        for _ in range(steps):
            self.step()
        tiles = [name for name, value in self.values.items() if np.ndim(value)]
        scalars = [name for name, value in self.values.items() if not np.ndim(value)]
        total = " + ".join(tiles[-3:] + scalars[-3:])
        self.result = sum(self.values[name] for name in tiles[-3:] + scalars[-3:])
        body = "".join(f"    {line}\n" for line in [*self.lines, f"tl.store(out + i, {total})"])
        return f"import tilewright as triton\nimport tilewright.language as tl\n\n\n@triton.jit\ndef kernel(x, y, out):\n{body}"


def kernel_of(text, folder):
    path = folder / "program.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed, tmp_path):
    numbers = np.random.default_rng(seed)
    x, y = (numbers.integers(-100, 100, SIZE, dtype=np.int32) for _ in range(2))
    program = Program(seed, {"x": x, "y": y})
    with np.errstate(over="ignore"):
        kernel = kernel_of(program.text(4 + seed % 8), tmp_path)
    out = np.zeros(SIZE, np.int32)
    kernel[(1, )](x, y, out)
    np.testing.assert_array_equal(out, program.result)


@pytest.mark.parametrize("target", ["cuda:sm_80", "cuda:sm_90a"])
def test_random_programs_on_other_gpus(target, engine, tmp_path):
    first = 100 + 8 * ["interpret", "cpu", "simulate", "cuda"].index(engine)  # each engine's run of this test takes other programs
    with tilewright.engine("simulate", target=target):
        for seed in range(first, first + 8):
            test_random_programs(seed, tmp_path)
