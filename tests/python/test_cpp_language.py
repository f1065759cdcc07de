"""Kernels in C++: types, mistakes, and the messages of the C++ compilers."""
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = Path(__file__).resolve().parent / "cpp"
COMPILERS = [name for name in ("clang++-22", "clang++-16", "g++") if shutil.which(name)]
TYPES = ["bool", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "float8e5", "float8e5b16", "float8e4",
         "float8e4b8", "float8e4b15", "half", "bfloat16", "float", "double"]


def compile_command(compiler, *arguments):
    return [compiler, "-std=c++20", f"-I{ROOT / 'include'}", *map(str, arguments)]


def program_of(source, folder, *flags, compiler="clang++-22"):
    library = ROOT / "build" / "lib"
    program = folder / "program"
    made = subprocess.run(compile_command(compiler, *flags, source, f"-L{library}", f"-Wl,-rpath,{library}", "-ltilewright", "-pthread", "-o", program),
                          capture_output=True, text=True)
    assert made.returncode == 0, made.stderr[:4000]
    return program


def test_the_headers_agree_with_the_tables():
    checked = subprocess.run([sys.executable, ROOT / "tools" / "cpp_language.py", "--check"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("types", [TYPES[i:i + 3] for i in range(0, len(TYPES), 3)], ids="-".join)
def test_types_of_operators_and_builtins(types, tmp_path):
    program = program_of(PROGRAMS / "types.cpp", tmp_path, "-Wno-unused-value", f"-DPART={', '.join(types)}")
    done = subprocess.run([program], capture_output=True, text=True, timeout=600)
    assert done.stdout == "the types agree\n", done.stdout


PYTHON_TYPES = {"i1": "int1", "fp8e5": "float8e5", "fp8e5b16": "float8e5b16", "fp8e4nv": "float8e4nv", "fp8e4b8": "float8e4b8", "fp8e4b15": "float8e4b15",
                "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64",
                **{f"{sign}{bits}": f"{'u' if sign == 'u' else ''}int{bits}" for sign in "iu" for bits in (8, 16, 32, 64)}}


def types_in_python(rows, folder):
    """The rows (element type, number, expression, result type) in which Python's result has another type."""
    source = ["import triton", "import triton.language as tl", "@triton.jit", "def check(p):"]
    for number, (element, value, expression, result) in enumerate(rows):
        code = re.sub(r"\bN\b", f"({value})", expression)
        source += [f"    x = tl.full([4], 1, tl.{PYTHON_TYPES[element]})", f"    tl.static_assert(({code}).dtype == tl.{PYTHON_TYPES[result]}, 'row {number}')"]
    (folder / "check.py").write_text("\n".join(source) + "\n")
    command = [ROOT / "build" / "bin" / "tilewright", "compile", folder / "check.py", "--signature", "*fp32", "--emit", "tt"]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr


@pytest.mark.parametrize("type", TYPES)
def test_numbers_have_the_types_of_python(type, tmp_path):
    program = program_of(PROGRAMS / "promotions.cpp", tmp_path, "-Wno-unused-value", "-Wno-bitwise-op-parentheses", f"-DPART={type}")
    done = subprocess.run([program], capture_output=True, text=True, timeout=600)
    rows = [tuple(line.split(" | ")) for line in done.stdout.splitlines() if line.count(" | ") == 3]
    assert done.returncode == 0, "\n".join(line for line in done.stdout.splitlines() if line.count(" | ") != 3)
    assert len(rows) > 60
    assert types_in_python(rows, tmp_path) == ""


def blocks_of(compiler, text):
    """The errors of a compiler, each with the lines of messages.cpp that it names."""
    if compiler.startswith("g++"):
        text = re.sub(r"(?m)^(.*: In (?:instantiation|substitution|function|member|static).*)$", r"@@\1", text)
        blocks = text.split("@@")
    else:
        blocks = re.split(r"(?m)^(?=\S+: error: )", text)
    return [(block, {int(line) for line in re.findall(r"messages\.cpp:(\d+):", block)}) for block in blocks]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_messages_of_the_compilers(compiler):
    source = PROGRAMS / "messages.cpp"
    limit = "-fmax-errors=0" if compiler.startswith("g++") else "-ferror-limit=0"
    done = subprocess.run(compile_command(compiler, "-fsyntax-only", limit, source), capture_output=True, text=True)
    assert done.returncode != 0
    blocks = blocks_of(compiler, done.stderr)
    for number, line in enumerate(source.read_text().splitlines(), 1):
        code, _, sentence = line.partition(" // ")
        if number < 3 or not sentence:
            continue
        assert any(sentence.strip() in block and number in lines for block, lines in blocks), f"line {number}: {line}\n{done.stderr[:3000]}"


EXPECTED_MISUSE = {
    "keep": "accepted",
    "another kernel": "this tile belongs to another kernel",
    "after the branch": "a value that was made in a loop, a branch or a function that has ended",
    "break": "break_() is not inside of a loop",
    "nested": "this is nested more than 200 levels deep",
    "continue": "continue_() is not inside of a loop",
    "capture": "a function that combines elements uses a variable of the kernel",
    "condition": "the condition of a while loop contains a loop or a branch",
    "undefined": "'x' is not defined here",
    "too large": "5000000000 is out of range for int32",
    "narrow": "5000000000 is out of range for i32",
    "narrow small": "300 is out of range for i8",
    "narrow unsigned": "-1 is out of range for u16",
    "narrow assigned": "256 is out of range for u8",
    "outside": "a tile is used outside of a kernel",
    "names": "names 1 parameters, and the kernel has 2",
    "range": "argument 1 of 'write(out, n)' does not fit",
    "key": "the key of the tuner has 'cuont', which is not a parameter of kernel 'fill'",
    "reset": "reset_to_zero has 'output', which is not a parameter of kernel 'fill'",
    "threads": "0 wrong",
}


@pytest.mark.parametrize("compiler", [name for name in COMPILERS if name != "clang++-16"])
def test_mistakes_that_only_a_launch_can_see(compiler, tmp_path):
    source = PROGRAMS / "misuse.cpp"
    done = subprocess.run([program_of(source, tmp_path, compiler=compiler)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    reports = {name: text for name, text in re.findall(r"(?ms)^== (.*?)\n(.*?)(?=^== |\Z)", done.stdout)}
    assert reports.keys() == EXPECTED_MISUSE.keys()
    lines = source.read_text().splitlines()
    for name, text in reports.items():
        assert EXPECTED_MISUSE[name] in text, text
        place = re.search(r"misuse\.cpp:(\d+)", text)
        if name not in ("keep", "names", "range", "key", "reset", "threads", "narrow assigned"):
            assert "// " in lines[int(place.group(1)) - 1], text  # the line of the mistake, which has a comment


CASES = {number for number, line in enumerate((PROGRAMS / "range.cpp").read_text().splitlines(), 1) if line.startswith("CASE(")}


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_number_out_of_range_does_not_compile(compiler):
    """clang++ evaluates each number; g++ does so when it optimizes."""
    limit = ["-O1", "-fmax-errors=0"] if compiler.startswith("g++") else ["-ferror-limit=0"]
    done = subprocess.run(compile_command(compiler, "-DKNOWN", *limit, "-c", "-o", "/dev/null", PROGRAMS / "range.cpp"), capture_output=True, text=True)
    blocks = re.split(r"(?m)^(?=In (?:member )?function|In constructor|.*In lambda)" if compiler.startswith("g++") else r"(?m)^(?=\S+: error: )", done.stderr)
    refused = {int(line) for block in blocks if "The number is out of range for the integer type" in block for line in re.findall(r"range\.cpp:(\d+):", block)}
    assert done.returncode != 0 and refused & CASES == CASES, f"{sorted(CASES - refused)}\n{done.stderr[:3000]}"
    others = [block[:1000] for block in blocks if "error: " in block and "The number is out of range" not in block]
    assert others == []


@pytest.mark.parametrize("compiler, flags", [(name, flags) for name in COMPILERS for flags in ([], ["-O1"], ["-DKNOWN"])
                                             if name != "clang++-16" and (name.startswith("g++") or "-DKNOWN" not in flags)])
def test_other_numbers_out_of_range_are_errors_of_launches(compiler, flags, tmp_path):
    done = subprocess.run([program_of(PROGRAMS / "range.cpp", tmp_path, *flags, compiler=compiler)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert {int(line) for line in re.findall(r"(?m)^(\d+) .*is out of range for ", done.stdout)} == CASES, done.stdout
    assert "held right" in done.stdout


EXAMPLES = sorted((ROOT / "examples" / "cpp").glob("[0-9]*.cpp"))
MAX_LINES, MAX_FUNCTIONS, MAX_CLASSES, MAX_CODE = 80_000, 4_500, 7_500, 160_000


def code_bytes(file):
    return int(subprocess.run(["size", file], capture_output=True, text=True, check=True).stdout.splitlines()[1].split()[0])


@pytest.mark.parametrize("source", EXAMPLES, ids=lambda path: path.stem)
def test_work_of_the_compilers(source, tmp_path):
    """A translation unit with one example compiles in 3 seconds on an idle machine without optimization; benchmarks/cpp_compile_time.py measures that. Seconds depend on the
    machine, so this test counts what takes them: lines, instantiations of templates, and code for the optimizer."""
    trace = tmp_path / "trace.json"
    command = compile_command("clang++-22", "-O2", "-c", source, "-o", tmp_path / "clang.o", f"-ftime-trace={trace}", "-ftime-trace-granularity=0")
    subprocess.run(command, check=True)
    events = Counter(event["name"] for event in json.loads(trace.read_text())["traceEvents"])
    assert 0 < events["InstantiateFunction"] < MAX_FUNCTIONS and 0 < events["InstantiateClass"] < MAX_CLASSES, events
    assert code_bytes(tmp_path / "clang.o") < MAX_CODE
    if shutil.which("g++"):
        subprocess.run(compile_command("g++", "-O2", "-c", source, "-o", tmp_path / "gcc.o"), check=True)
        assert code_bytes(tmp_path / "gcc.o") < MAX_CODE
    lines = subprocess.run(compile_command("clang++-22", "-E", "-P", source), capture_output=True, text=True, check=True).stdout.count("\n")
    assert lines < MAX_LINES
