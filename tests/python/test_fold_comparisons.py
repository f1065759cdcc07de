"""What the step fold-comparisons replaces by true is true: random comparisons of tiles, evaluated for every element in every iteration."""

import operator
import pathlib
import random
import shutil
import subprocess

import pytest

ELEMENTS = 8
COMPARISONS = {"slt": operator.lt, "sle": operator.le, "sgt": operator.gt, "sge": operator.ge}
CONSTANTS = {32: [-(2**31), -9, -1, 0, 1, 3, 7, 8, 9, 64, 100, 2**31 - 1], 64: [-(2**63), -(2**62), -(2**32), -1, 0, 1, 8, 2**32, 2**62, 2**63 - 1]}
COMMAND = shutil.which("tilewright") or str(pathlib.Path(__file__).resolve().parents[2] / "build" / "bin" / "tilewright")


def signed(value, bits):
    return (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def quotient(a, b):
    """Of the language: rounded towards 0, and -1 for a divisor of 0."""
    return abs(a) // abs(b) * (1 if (a >= 0) == (b >= 0) else -1) if b else -1


OPERATIONS = {
    "addi": operator.add, "subi": operator.sub, "muli": operator.mul, "minsi": min, "maxsi": max,
    "divsi": quotient, "remsi": lambda a, b: a - quotient(a, b) * b, "divui": quotient, "remui": lambda a, b: a - quotient(a, b) * b,
}


def program(rng, number):
    """The text of a function with one comparison, whose mask a store has, and whether it is true in all iterations."""
    lower, step, count = rng.choice([0, 0, 1, 8]), rng.choice([1, 2, 8, 32]), rng.randint(1, 6)
    upper = lower + step * count - rng.randrange(step)
    iterations = range(lower, upper, step)
    assert len(iterations) == count
    values = [("%range", 32, [list(range(ELEMENTS)) for _ in iterations]), ("%all", 32, [[i] * ELEMENTS for i in iterations])]
    lines = []

    def add(text, bits, rows):
        lines.append(f"    %v{len(lines)} = {text}")
        values.append((f"%v{len(lines) - 1}", bits, rows))
        return values[-1]

    def constant(bits):
        value = rng.choice(CONSTANTS[bits] + list(range(1, 20)) * 2)
        return add(f"arith.constant dense<{value}> : tensor<{ELEMENTS}xi{bits}>", bits, [[value] * ELEMENTS for _ in iterations])

    def pick(bits):
        same = [value for value in values if value[1] == bits]
        return rng.choice(same) if same and rng.random() < 0.7 else constant(bits)

    for _ in range(rng.randint(1, 5)):
        bits, name = rng.choice([32, 32, 64]), rng.choice(["addi", "addi", "subi", *OPERATIONS, "extsi"])
        if name == "extsi":
            source, _, rows = pick(32)
            add(f"arith.extsi {source} : tensor<{ELEMENTS}xi32> to tensor<{ELEMENTS}xi64>", 64, rows)
            continue
        left, right = pick(bits), pick(bits)
        numbers = (lambda value: value % 2**bits) if name.endswith("ui") else int
        rows = [[signed(OPERATIONS[name](numbers(a), numbers(b)), bits) for a, b in zip(*both)] for both in zip(left[2], right[2])]
        add(f"arith.{name} {left[0]}, {right[0]} : tensor<{ELEMENTS}xi{bits}>", bits, rows)
    bits, comparison = rng.choice([32, 64]), rng.choice(list(COMPARISONS))
    left, right = pick(bits), pick(bits)
    if rng.random() < 0.4:  # unsigned
        comparison, modulus = "u" + comparison[1:], 2**bits
    else:
        modulus = 0
    compare = COMPARISONS["s" + comparison[1:]]
    read = lambda value: value % modulus if modulus else value
    holds = all(compare(read(a), read(b)) for both in zip(left[2], right[2]) for a, b in zip(*both))
    lines.append(f"    %mask = arith.cmpi {comparison}, {left[0]}, {right[0]} : tensor<{ELEMENTS}xi{bits}>")
    body = "\n".join(lines)
    return f"""tt.func @f{number}(%p: tensor<{ELEMENTS}x!tt.ptr<f32>>, %x: tensor<{ELEMENTS}xf32>) {{
  %range = tt.make_range {{start = 0 : i32, end = {ELEMENTS} : i32}} : tensor<{ELEMENTS}xi32>
  %lower = arith.constant {lower} : i32
  %upper = arith.constant {upper} : i32
  %step = arith.constant {step} : i32
  scf.for %i = %lower to %upper step %step : i32 {{
    %all = tt.splat %i : i32 -> tensor<{ELEMENTS}xi32>
{body}
    tt.store %p, %x, %mask : tensor<{ELEMENTS}x!tt.ptr<f32>>
  }}
  tt.return
}}
""", holds


@pytest.mark.parametrize("seed", range(4))
def test_what_is_folded_is_true(seed, tmp_path):
    rng = random.Random(seed)
    texts, holds = zip(*(program(rng, number) for number in range(500)))
    file = tmp_path / "comparisons.mlir"
    file.write_text("".join(texts))
    done = subprocess.run([COMMAND, "opt", str(file), "--fold-comparisons"], capture_output=True, text=True, check=True)
    functions = done.stdout.split("tt.func @f")[1:]
    assert len(functions) == len(texts)
    folded = [number for number, text in enumerate(functions) if "arith.cmpi" not in text]
    assert not [texts[number] for number in folded if not holds[number]]
    assert len(folded) > 0.25 * sum(holds)  # most of the others compare for sizes that wrap around
