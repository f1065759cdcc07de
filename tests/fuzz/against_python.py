"""Tests the front end by random scalar kernels: CPython runs them as plain functions, and Tilewright must get the same results.

    python tests/fuzz/against_python.py                          60 seconds from seed 0
    python tests/fuzz/against_python.py --first 5000 --count 100000 [--seconds 3600] [--cpu-every 50]
    python tests/fuzz/against_python.py --seed 1234 --show       one program, its text first
    python tests/fuzz/against_python.py --seed 1234 --minimize   a minimal program that still disagrees

Python decides what a name means, which statements run, and what is known at compile time. A program is the text of a kernel; CPython
runs it with stand-ins for tl.load, tl.store and the loops of `tl`. Numbers stay where Python's and the language's arithmetic are the same:
assigned values are masked to a few bits, quotients have no negative operands, floats are small multiples of a power of two.

Tilewright may refuse a program if it names the reason: a name without a value on some path through the function, or with two types. It must not give
other numbers than CPython, nor run a program that is an error in Python.
"""

import argparse
import collections
import importlib.util
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

import jobs

HEADER = "import tilewright as triton\nimport tilewright.language as tl\n\nG0 = tl.constexpr(3)\nG1 = tl.constexpr(6)\nG2 = tl.constexpr(1)\n\n"
GLOBALS = {"G0": 3, "G1": 6, "G2": 1}
SIZE = 32  # elements of each tensor


class Block:
    """A statement with statements below it."""

    def __init__(self, head, body, tail=()):
        self.head, self.body, self.tail = head, body, tail  # tail: the `else` of an `if`, a Block, at most one

    def lines(self, indent):
        yield " " * indent + self.head
        yield from lines(self.body, indent + 4)
        for other in self.tail:
            yield from other.lines(indent)


def lines(statements, indent):
    count = 0
    for statement in statements:
        count += 1
        if isinstance(statement, str):
            yield " " * indent + statement
        else:
            yield from statement.lines(indent)
    if not count:
        yield " " * indent + "pass"


class Program:
    """Functions, the kernel last; a function is a Block."""

    def __init__(self, seed, functions, constants, closure):
        self.seed, self.functions, self.constants, self.closure = seed, functions, constants, closure
        self.kernel = f"k{seed}"

    def text(self):
        helpers = [f"@triton.jit\n" + "\n".join(f.lines(0)) + "\n\n" for f in self.functions[:-1]]
        kernel = self.functions[-1]
        if not self.closure:
            return "\n".join(helpers) + "\n@triton.jit\n" + "\n".join(kernel.lines(0)) + "\n\n"
        inner = "    @triton.jit\n" + "\n".join(kernel.lines(4))
        return "\n".join(helpers) + f"\ndef make{self.seed}(G0):\n{inner}\n    return {self.kernel}\n\n\n{self.kernel} = make{self.seed}(tl.constexpr(2))\n\n"


class Generator:
    """The names in scope, and the statements that may come next. Every name keeps one type: i (int), f (float), b (bool), t (a pair of ints)."""

    def __init__(self, seed):
        self.seed, self.random = seed, random.Random(seed)
        self.fresh = 0
        self.budget = self.random.randint(4, 28)
        self.functions, self.helpers, self.has_pointers = [], [], False

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def pick(self, *options):
        return self.random.choice(options)

    def program(self):
        for _ in range(self.random.choice([0, 0, 1, 1, 2])):
            self.helper()
        self.has_pointers = True
        names = ["o", "r", "a", "b", "c", "N: tl.constexpr", "M: tl.constexpr"]
        self.enter(["a", "b", "c"], ["N", "M"], can_return=False)
        self.targets = ["x", "y", "z", "a", "i", "j"] + (["G1"] if self.chance(20) else []) + (["b"] if self.chance(30) else [])
        body = [self.assign(name, self.integer(1)) for name in ("x", "y")]
        body += [self.assign("f", self.floating(1))] if self.chance(40) else []
        body += self.block(0)
        place = 0
        for name in sorted(self.ints & self.certain):
            body.append(f"tl.store(o + {place}, {name})")
            place += 1
        for i, name in enumerate(sorted(self.floats & self.certain)):
            body.append(f"tl.store(r + {i}, {name})")
        for name in sorted(self.tuples & self.certain):
            body.append(f"tl.store(o + {place}, {name}[0] + 1000 * {name}[1])")
            place += 1
        self.functions.append(Block(f"def k{self.seed}({', '.join(names)}):", body))
        constants = (self.random.randint(0, 7), self.random.randint(0, 4))
        return Program(self.seed, self.functions, constants, self.chance(15))

    def enter(self, ints, constants, can_return):
        self.ints, self.floats, self.bools, self.tuples = set(ints), set(), set(), set()
        self.constants = list(constants)
        self.certain = set(ints)  # names that surely have a value
        self.can_return, self.in_loop, self.unrolled = can_return, 0, 0

    def helper(self):
        number, arity = len(self.functions), self.random.randint(1, 2)
        params = [f"p{i}" for i in range(arity)]
        constant = self.chance(50)
        self.enter(params, ["N"] if constant else [], can_return=True)
        self.targets = ["x", "y", "p0"]
        budget, self.budget = self.budget, self.random.randint(1, 8)
        pair = self.chance(25)
        self.result = (lambda: f"return {self.integer(2)}, {self.integer(1)}") if pair else (lambda: f"return {self.integer(2)}")
        body = [self.assign("x", self.integer(1))] + self.block(0)
        body.append(self.result())
        self.budget = budget
        default = f" = {self.random.randint(0, 5)}" if constant and self.chance(30) else ""
        head = f"def h{self.seed}_{number}({', '.join(params)}{', N: tl.constexpr' + default if constant else ''}):"
        self.functions.append(Block(head, body))
        self.helpers.append((f"h{self.seed}_{number}", arity, constant, bool(default), pair))

    # ---- names

    def bind(self, name):
        if name.startswith("f"):
            self.floats.add(name)
        elif name.startswith("q"):
            self.bools.add(name)
        elif name.startswith("t"):
            self.tuples.add(name)
        else:
            self.ints.add(name)
        self.certain.add(name)

    def assign(self, name, value):
        self.bind(name)
        return f"{name} = {value}"

    def known(self, kind):
        """A name of this kind that has a value; rarely, one that may have none."""
        sure = sorted(kind & self.certain)
        return self.pick(*sorted(kind)) if kind and (not sure or self.random.randrange(400) == 0) else self.pick(*sure) if sure else None

    def target(self):
        name = self.pick(*self.targets)
        if self.chance(10):
            name = f"n{self.fresh}"
            self.fresh += 1
            self.targets.append(name)
        return name

    # ---- expressions

    def constant(self):
        names = self.constants + [name for name in GLOBALS if name not in self.ints]
        return self.pick(str(self.random.randint(0, 9)), self.pick(*names) if names else "2", f"({self.pick(*names) if names else 4} + 1)")

    def integer(self, depth):
        """An int expression. Masked leaves are between about -600 and 600; no result reaches 2**31."""
        return f"(({self.sum(depth)}) & {self.pick(15, 63, 255)})" + self.pick("", "", f" - {self.random.randint(0, 40)}")

    def leaf(self):
        name = self.known(self.ints)
        tuples = self.known(self.tuples)
        roll = self.random.randrange(100)
        if tuples and roll < 8:
            return f"{tuples}[{self.pick(0, 1, -1)}]"
        if name and roll < 65:
            return name
        if roll < 70 and self.has_pointers:
            return f"tl.load(o + {self.random.randrange(SIZE)})"
        return self.constant()

    def sum(self, depth):
        if depth <= 0:
            return self.leaf()
        roll = self.random.randrange(100)
        if roll < 30:
            return f"{self.sum(depth - 1)} {self.pick('+', '-')} {self.sum(depth - 1)}"
        if roll < 40:
            return f"{self.leaf()} * {self.leaf()}"
        if roll < 46:
            return f"({self.sum(depth - 1)} & 255) {self.pick('//', '%')} (({self.leaf()} & 7) + 1)"
        if roll < 52:
            return f"(({self.sum(depth - 1)} & 255) {self.pick('<<', '>>')} ({self.leaf()} & 3))"
        if roll < 58:
            return f"({self.sum(depth - 1)} {self.pick('&', '|', '^')} {self.leaf()})"
        if roll < 64:
            test = self.condition(depth - 1)
            arms = [self.conditional(lambda: self.sum(depth - 1)) for _ in range(2)]
            return f"({arms[0]} if {test} else {arms[1]})"
        if roll < 70:
            return f"{self.pick('min', 'max')}({self.leaf()}, {self.leaf()})"
        if roll < 74:
            return f"abs({self.leaf()})"
        if roll < 78:
            return f"-{self.leaf()}"
        if roll < 80:
            return f"~{self.leaf()}"
        if roll < 88:
            return self.walrus(depth - 1)
        if roll < 96 and self.helpers:
            return self.call(depth - 1)
        return f"({self.sum(depth - 1)})"

    def conditional(self, make):
        """An expression that is only evaluated sometimes: its names are not certain to have values afterwards."""
        before = set(self.certain)
        text = make()
        self.certain = before
        return text

    def walrus(self, depth):
        value = self.integer(depth)
        name = self.target()
        self.bind(name)
        return f"({name} := {value})"

    def call(self, depth):
        name, arity, constant, default, pair = self.pick(*self.helpers)
        args = [self.sum(min(depth, 1)) for _ in range(arity)]
        if constant and not (default and self.chance(50)):
            args.append(self.pick("", "N=") + self.pick(*self.constants, "2", "4"))
        return f"{name}({', '.join(args)})" + (f"[{self.pick(0, 1)}]" if pair else "")

    def condition(self, depth):
        roll = self.random.randrange(100)
        if depth > 0 and roll < 18:
            first = self.condition(depth - 1)
            return f"({first} {self.pick('and', 'or')} {self.conditional(lambda: self.condition(depth - 1))})"
        if depth > 0 and roll < 26:
            return f"(not {self.condition(depth - 1)})"
        if self.bools and roll < 36:
            return self.known(self.bools)
        compare = lambda: self.pick("<", "<=", ">", ">=", "==", "!=")
        if self.floats and roll < 42:
            return f"{self.known(self.floats)} {compare()} {self.pick('0.0', '1.5', '-2.0')}"
        if roll < 50:
            return f"{self.leaf()} {compare()} {self.leaf()} {compare()} {self.leaf()}"
        if roll < 62:
            return f"{self.constant()} {compare()} {self.constant()}"
        return f"{self.sum(depth)} {compare()} {self.leaf()}"

    def floating(self, depth):
        roll = self.random.randrange(100)
        name = self.known(self.floats)
        if name and roll < 30:
            return f"-{name}" if roll < 12 else f"{name} if {self.condition(0)} else {self.pick('0.0', '2.5', '-1.0')}"
        if roll < 60:
            return f"{self.leafless()} * {self.pick('0.5', '0.25', '2.0')}"
        if roll < 80:
            return f"{self.leafless()} + {self.pick('0.5', '-1.25')}"
        return self.pick("0.5", "-0.0", "3.25", "1.0")

    def leafless(self):
        """A run-time int of few bits."""
        return f"({self.known(self.ints)} & 127)"

    # ---- statements

    def block(self, depth):
        body = []
        count = self.random.randint(1, 4)
        while count and self.budget > 0:
            count -= 1
            self.budget -= 1
            body += self.statement(depth)
        return body

    def statement(self, depth):
        roll = self.random.randrange(100)
        if depth < 4 and roll < 16:
            return [self.branch(depth)]
        if depth < 3 and roll < 30:
            return self.loop(depth)
        if depth < 3 and roll < 38:
            return self.while_loop(depth)
        if depth < 3 and roll < 45:
            return [self.static_loop(depth)]
        if roll < 50:
            return self.pair()
        if roll < 55 and self.floats | self.ints:
            return [self.assign("f", self.floating(1))]
        if roll < 58:
            return [self.assign("q", f"{self.leaf()} < {self.leaf()}")]
        if roll < 60 and self.has_pointers:
            return [f"tl.store(o + {self.random.randrange(16, SIZE)}, {self.integer(1)})"]
        if roll < 62:
            return [f"assert {self.walrus(1)} == {self.leaf()} or True"]
        if roll < 66:
            return self.comprehension()
        if roll < 74 and self.known(self.ints):
            name = self.known(self.ints & self.certain) or "x"
            if name in self.targets and name in self.certain:
                return [f"{name} {self.pick('+=', '-=', '^=', '|=')} {self.integer(1)}", f"{name} = {name} & 1023"]
        if roll < 78 and self.can_return and depth and not self.in_loop and not self.unrolled:
            return [self.result()]
        text = self.integer(2)
        return [self.assign(self.target(), text)]

    def pair(self):
        roll = self.random.randrange(4)
        if roll == 0 or not self.tuples:
            return [self.assign("t", f"({self.integer(1)}, {self.integer(1)})")]
        if roll == 1:
            return [f"t = (t[1], {self.integer(1)})"] if "t" in self.certain else []
        left, right = self.target(), self.target()
        if left == right:
            return []
        value = self.known(self.tuples) if roll == 2 and self.known(self.tuples) else f"{self.integer(1)}, {self.integer(1)}"
        self.bind(left), self.bind(right)
        return [f"{left}, {right} = {value}"]

    def comprehension(self):
        name = self.target()
        variable = self.pick("e", "x", "i")
        hidden = variable in self.ints, variable in self.certain
        self.ints.add(variable), self.certain.add(variable)
        element = f"{self.leaf()} + {variable}"
        if hidden[0] is False:
            self.ints.discard(variable)
        if hidden[1] is False:
            self.certain.discard(variable)
        inner = self.target()
        if self.chance(30) and inner != variable and inner in self.certain:
            element = f"({inner} := ({inner} & 63) + {self.pick('1', variable)})"
        source = self.pick("(1, 2)", "(4,)", "[3, 0, 5]")
        if variable == name:
            return []
        self.bind(name)
        return [f"{name} = [{element} for {variable} in {source}][{self.pick(0, -1)}] & 255"]

    def arm(self, depth):
        before = set(self.certain)
        body = self.block(depth + 1)
        after, self.certain = self.certain, before
        ends = body and isinstance(body[-1], str) and body[-1].startswith("return")
        return body, None if ends else after

    def branch(self, depth):
        head = f"if {self.condition(2)}:"
        body, first = self.arm(depth)
        tail = []
        second = self.certain
        if self.chance(50):
            other, second = self.arm(depth)
            tail.append(Block("else:", other))
        both = [names for names in (first, second) if names is not None]
        if both:
            self.certain = set.intersection(*both)
        return Block(head, body, tail)

    def body_of_loop(self, depth, start):
        before = set(self.certain)
        self.certain |= start
        self.in_loop += 1
        body = self.block(depth + 1)
        self.in_loop -= 1
        self.certain = before
        return body

    def loop(self, depth):
        name = self.pick("i", "j", "i", "x", "e")
        bound = self.integer(1) if self.chance(20) else self.leaf()
        bounds = self.pick(f"({bound}) & 3", "2", f"({bound}) & 3, 5", f"4, ({bound}) & 3, -1", f"0, ({bound}) & 7, 2", "3, 0, -2")
        call = self.pick("range", "range", "tl.range")
        self.ints.add(name)
        return [Block(f"for {name} in {call}({bounds}):", self.body_of_loop(depth, {name}))]

    def static_loop(self, depth):
        name = self.pick("i", "j", "s")
        bounds = self.pick("2", "3", "N", "M & 3", "1, 4", "3, 0, -1", "0") if self.constants else self.pick("2", "3")
        if "M" not in self.constants:
            bounds = bounds.replace("M", "N")
        self.ints.add(name)
        self.unrolled += 1
        body = self.body_of_loop(depth + 1, {name})
        self.unrolled -= 1
        return Block(f"for {name} in tl.static_range({bounds}):", body)

    def while_loop(self, depth):
        fuel = f"w{self.fresh}"
        self.fresh += 1
        first = self.condition(1)
        start = set(self.certain)
        body = self.body_of_loop(depth, start)
        return [f"{fuel} = 0", Block(f"while {first} and {fuel} < {self.random.randint(1, 4)}:", body + [f"{fuel} += 1"])]


# ---- the two machines


class Pointer:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def __add__(self, offset):
        return Pointer(self.data, self.at + int(offset))


class Language:
    """Stands for `tl` and `triton` in CPython."""

    constexpr = staticmethod(lambda value=None: value)
    static_range = range = staticmethod(range)
    jit = staticmethod(lambda function: function)

    @staticmethod
    def load(pointer):
        return pointer.data[pointer.at]

    @staticmethod
    def store(pointer, value):
        pointer.data[pointer.at] = value


def by_python(program, arguments):
    """The results (ints, floats) in CPython, or the name of the exception."""
    space = {"tl": Language, "triton": Language, **GLOBALS}
    ints, floats = [0] * SIZE, [0.0] * SIZE
    try:
        exec(compile(program.text(), program.kernel, "exec"), space)
        space[program.kernel](Pointer(ints), Pointer(floats), *arguments, *program.constants)
    except (NameError, UnboundLocalError) as error:
        return type(error).__name__
    return [int(value) for value in ints], floats


REFUSALS = ["is not defined here", "is read before", "loop-carried variable", "is .* in one arm", "inconsistent types", "Mismatched type",
            "is not defined", "has another type"]


def by_tilewright(kernel, program, arguments, engine):
    import numpy as np
    import tilewright

    ints, floats = np.zeros(SIZE, np.int32), np.zeros(SIZE, np.float32)
    try:
        with tilewright.engine(engine):
            kernel[(1,)](ints, floats, *arguments, *program.constants)
    except Exception as error:
        text = str(error)
        for line in text.splitlines():
            if "error:" in line:
                return line.split("error:", 1)[1].strip()
        return text.strip() or repr(error)
    return ints.tolist(), [float(value) for value in floats]


def load(text, folder, name):
    path = pathlib.Path(folder) / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ARGUMENTS = [(5, 2, -3), (0, 1, 200)]


def result_of(program, kernel, engine):
    """None if both agree; a word for a refusal; a text for a difference."""
    for arguments in ARGUMENTS:
        want, got = by_python(program, arguments), by_tilewright(kernel, program, arguments, engine)
        if isinstance(got, str):
            if any(re.search(pattern, got) for pattern in REFUSALS):
                return "refused: " + re.sub(r"'\w+'|\d+", "_", got)[:60]
            return f"DIFFERENT on {engine} for {arguments}: CPython says {want}, Tilewright refuses: {got}"
        if want != got and str(want) != str(got):
            return f"DIFFERENT on {engine} for {arguments}: CPython says {want}, Tilewright {got}"
    return None


def check(program, folder, engine):
    module = load(HEADER + program.text(), folder, f"one_{program.seed}_{time.monotonic_ns()}")
    return result_of(program, getattr(module, program.kernel), engine)


# ---- minimization


def smaller(statements):
    """All ways to remove one of the statements, or to replace it by its body."""
    for i, statement in enumerate(statements):
        yield statements[:i] + statements[i + 1:]
        if isinstance(statement, Block):
            yield statements[:i] + statement.body + statements[i + 1:]
            if statement.tail:
                yield statements[:i] + [Block(statement.head, statement.body)] + statements[i + 1:]
                yield statements[:i] + statement.tail[0].body + statements[i + 1:]
                for body in smaller(statement.tail[0].body):
                    yield statements[:i] + [Block(statement.head, statement.body, [Block("else:", body)])] + statements[i + 1:]
            for body in smaller(statement.body):
                yield statements[:i] + [Block(statement.head, body, statement.tail)] + statements[i + 1:]


def minimize(program, folder, engine):
    kind = "refuses" if "refuses" in check(program, folder, engine) else "DIFFERENT"
    changed = True
    while changed:
        changed = False
        for at in range(len(program.functions)):
            for body in smaller(program.functions[at].body):
                functions = list(program.functions)
                functions[at] = Block(functions[at].head, body)
                candidate = Program(program.seed, functions, program.constants, program.closure)
                found = check(candidate, folder, engine)
                if found and kind in found and not (kind == "DIFFERENT" and "refuses" in found):
                    program, changed = candidate, True
                    break
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10**9)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, help="this program alone")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--minimize", action="store_true")
    parser.add_argument("--engine", default="interpret")
    parser.add_argument("--cpu-every", type=int, default=50, help="every n-th program also as compiled code; 0: none")
    parser.add_argument("--each", type=int, default=2500, help="programs a process: kernels that are compiled take memory")
    parser.add_argument("--keep-going", action="store_true", help="do not stop at the tenth difference")
    options = parser.parse_args()
    jobs.require("numpy", "tilewright")
    with tempfile.TemporaryDirectory() as folder:
        if options.seed is not None:
            program = Generator(options.seed).program()
            if options.minimize:
                program = minimize(program, folder, options.engine)
            print(program.text(), check(program, folder, options.engine), sep="\n")
            return 0
        return summary(options, *many(options, folder) if options.count <= options.each else in_processes(options))


def in_processes(options):
    """Runs the programs in processes, one after the other, of `each` programs."""
    start, done, outcome = time.monotonic(), 0, collections.Counter()
    while done < options.count and time.monotonic() - start < options.seconds and (options.keep_going or outcome["different"] < 10):
        left = options.seconds - (time.monotonic() - start)
        command = [sys.executable, __file__, "--first", str(options.first + done), "--count", str(min(options.each, options.count - done)),
                   "--seconds", str(left), "--engine", options.engine, "--cpu-every", str(options.cpu_every), "--each", str(options.each)]
        text = subprocess.run(command + ["--keep-going"] * options.keep_going, stdout=subprocess.PIPE, text=True).stdout
        print("".join(line + "\n" for line in text.splitlines() if line.startswith("seed ")), end="", flush=True)
        last = re.search(r"^(\d+) programs from seed", text, re.MULTILINE)
        if not last:
            outcome["different"] += 1
            print(f"seeds {options.first + done} and on: the process ended without a result", flush=True)
            done += options.each
            continue
        done += int(last[1])
        for count, reason in re.findall(r"^ +(\d+) (.*)$", text, re.MULTILINE):
            outcome[reason] += int(count)
    return done, time.monotonic() - start, outcome


def many(options, folder):
    batch, start, done, outcome = 100, time.monotonic(), 0, collections.Counter()
    while done < options.count and time.monotonic() - start < options.seconds and (options.keep_going or outcome["different"] < 10):
        first = options.first + done
        programs = [Generator(seed).program() for seed in range(first, first + min(batch, options.count - done))]
        module = load(HEADER + "".join(program.text() for program in programs), folder, f"batch_{first}")
        for program in programs:
            kernel = getattr(module, program.kernel)
            found = result_of(program, kernel, options.engine)
            if not found and options.cpu_every and program.seed % options.cpu_every == 0:
                found = result_of(program, kernel, "cpu")
            outcome[found if found and found.startswith("refused") else "different" if found else "equal"] += 1
            if found and found.startswith("DIFFERENT"):
                print(f"seed {program.seed}: {found[:400]}", flush=True)
        done += len(programs)
        sys.modules.pop(f"batch_{first}", None)
    return done, time.monotonic() - start, outcome


def summary(options, done, seconds, outcome):
    print(f"{done} programs from seed {options.first} in {seconds:.0f} s")
    for reason, count in outcome.most_common():
        print(f"  {count:6} {reason}")
    return 1 if outcome["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
