"""TILEWRIGHT_DEBUG_INFO=1: debuggers and profilers map code to the kernel's lines."""

import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

import numpy as np
import pytest

import tilewright as triton
from test_cpp_language import program_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = pathlib.Path(triton.__file__).absolute().parents[2] / "bin" / "tilewright"
needs_command = pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built next to the package")

KERNEL = """
import numpy as np
import triton
import triton.language as tl

@triton.jit
def grow_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.exp(x) + 1
    tl.store(out_ptr + at, y, mask=at < n)
"""
LAUNCH = """
import os
perf_map = f"/tmp/perf-{{os.getpid()}}.map"
if os.path.exists(perf_map):  # an earlier process of this number left it
    os.remove(perf_map)
x = np.ones(5000, np.float32)
out = np.zeros_like(x)
for _ in range({times}):
    grow_kernel[(5,)](x, out, 5000, BLOCK=1024)
print(open(perf_map).read() if os.path.exists(perf_map) else "no map")
"""
SIGNATURE = "x_ptr=*fp32:16, out_ptr=*fp32:16, n=i32, BLOCK=1024"
STORE = 11  # the line of the store


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "grow.py"

    def write(times=1, before=""):
        path.write_text(before + KERNEL + LAUNCH.format(times=times))
        return path

    return write


def emitted(path, stage, on, *more):
    done = subprocess.run([COMMAND, "compile", path, "--kernel", "grow_kernel", "--signature", SIGNATURE, "--emit", stage, *more],
                          capture_output=True, env={**os.environ, "TILEWRIGHT_DEBUG_INFO": on, "TILEWRIGHT_CACHE": "0"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def instructions(text):
    """The instructions of assembly text, without directives, labels and comments."""
    lines = (line.split("#")[0].split("//")[0].strip() for line in text.decode().splitlines())
    return [re.sub(r"\.L\w+", ".L", line) for line in lines if line and not line.startswith((".", "$")) and not line.endswith(":")]


@needs_command
def test_lines_change_no_instruction(script):
    path = script()
    plain, lined = emitted(path, "asm", "0"), emitted(path, "asm", "1")
    assert b".loc" not in plain
    lines = {int(number) for number in re.findall(rb"\.loc\s+\d+\s+(\d+)", lined)}
    assert {9, 10, STORE} <= lines
    assert instructions(plain) == instructions(lined) and len(instructions(plain)) > 20


@needs_command
def test_upstreams_variable_disables_lines(script, monkeypatch):
    path = script()
    monkeypatch.setenv("TRITON_DISABLE_LINE_INFO", "1")
    assert b".loc" not in emitted(path, "asm", "1")
    monkeypatch.setenv("TRITON_DISABLE_LINE_INFO", "0")
    assert b".loc" in emitted(path, "asm", "1")


@needs_command
def test_lines_in_ptx(script):
    path = script()
    target = "--target", "cuda:sm_90a"
    plain, lined = emitted(path, "ptx", "0", *target), emitted(path, "ptx", "1", *target)
    assert b".loc" not in plain and b".file" not in plain
    assert b".file" in lined and str(path).encode() in lined
    assert re.search(rb"\.loc\s+1 %d " % STORE, lined)
    if shutil.which("ptxas"):
        assert b"debug_line" in emitted(path, "cubin", "1", *target) and b"debug_line" not in emitted(path, "cubin", "0", *target)


def run(path, on="1", **options):
    return subprocess.run([sys.executable, "-m", "tilewright", path], capture_output=True, text=True, check=True,
                          env={**os.environ, "TILEWRIGHT_DEBUG_INFO": on}, **options).stdout


def test_map_for_perf(script):
    path = script()
    assert run(path, "0").strip() == "no map"
    assert re.search(r"^[0-9a-f]+ [0-9a-f]+ grow_kernel\.\w+$", run(path), re.M)
    assert "grow_kernel" in run(path)  # also from the cache


def in_gdb(path, *commands):
    words = [word for command in ("set breakpoint pending on", "handle SIGURG nostop noprint", *commands) for word in ("-ex", command)]
    done = subprocess.run(["gdb", "-q", "-batch", *words, "--args", sys.executable, "-m", "tilewright", path], capture_output=True, text=True,
                          env={**os.environ, "TILEWRIGHT_DEBUG_INFO": "1", "TILEWRIGHT_NUM_THREADS": "1"}, stdin=subprocess.DEVNULL)
    return done.stdout + done.stderr


@pytest.mark.skipif(not shutil.which("gdb"), reason="there is no gdb here")
def test_breakpoints_and_backtraces_in_gdb(script):
    path = script()
    shown = in_gdb(path, f"break grow.py:{STORE}", "run", "bt 1", "kill")
    if "ptrace" in shown and "Breakpoint 1," not in shown:
        pytest.skip("processes must not be traced here")
    assert re.search(rf"Breakpoint 1, grow_kernel.* at {re.escape(str(path))}:{STORE}", shown), shown
    assert f"{STORE}\t    tl.store(out_ptr + at, y, mask=at < n)" in shown
    # A kernel that was only moved has other lines, although the cache has its code.
    shown = in_gdb(script(before="#\n#\n"), f"break grow.py:{STORE + 2}", "run", "kill")
    assert re.search(rf"Breakpoint 1, grow_kernel.*:{STORE + 2}", shown), shown


VARIABLES = """
import numpy as np
import triton
import triton.language as tl

@triton.jit
def rows_kernel(x_ptr, out_ptr, factor, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + pid * BLOCK + at)
    weights = tl.exp(x - tl.max(x, 0))
    share = weights / tl.sum(weights, 0) * factor
    count = n + pid
    for step in range(count):
        share += tl.load(x_ptr + step * pid) * 0.0 + step * 0.5  # the program's number is in use here
    tl.store(out_ptr + pid * BLOCK + at, share)

x = np.tile(np.arange(64, dtype=np.float32), (4, 1)) / 64
rows_kernel[(4,)](x, np.empty_like(x), 2.5, 3, BLOCK=64)
"""


@pytest.mark.skipif(not shutil.which("gdb"), reason="there is no gdb here")
def test_variables_in_gdb(tmp_path):
    path = tmp_path / "rows.py"
    path.write_text(VARIABLES)
    load, step, store = (1 + VARIABLES.splitlines().index(line) for line in (
        "    x = tl.load(x_ptr + pid * BLOCK + at)", "        share += tl.load(x_ptr + step * pid) * 0.0 + step * 0.5  # the program's number is in use here",
        "    tl.store(out_ptr + pid * BLOCK + at, share)"))
    shown = in_gdb(path, f"break rows.py:{load}", "run", "print factor", "print x_ptr[2]",
                   "print pid", f"tbreak rows.py:{step}", "continue", "print x", "print pid", "print n", "print count", "ptype weights",
                   f"tbreak rows.py:{store}", "continue", "print x_ptr[2]", "print n", "print share[0]", "print share[63]", "kill")
    if "ptrace" in shown and "Breakpoint 1," not in shown:
        pytest.skip("processes must not be traced here")
    values = re.findall(r"^\$\d+ = (.*)$", shown, re.M)
    assert float(values[0]) == 2.5 and float(values[1]) == 2 / 64, shown
    assert values[2] == "0", shown
    assert values[3] == "<optimized out>", shown  # it is computed where it is used, and is nowhere as a whole
    # After the addresses, nothing needs the program's number, and on some CPUs its register is reused.
    assert values[4] in ("0", "<optimized out>") and values[5:7] == ["3", "3"] and "type = float32 [64]" in shown, shown
    weights = np.exp(np.arange(64) / 64 - 63 / 64)
    assert float(values[7]) == 2 / 64 and values[8] == "3", shown  # arguments are known to the end, used or not
    for value, weight in zip(values[9:], (weights[0], weights[63])):
        assert float(value) == pytest.approx(2.5 * weight / weights.sum() + 1.5, rel=1e-5), shown


IN_CPP = """#include <tilewright/language.h>
#include <vector>
using namespace tilewright;
void grow(ptr<const float> x, ptr<float> out, f32 factor, i32 n) {
  auto at = program_id(0) * 64 + arange<64>();
  auto value = load(x + at, at < n) * factor;
  store(out + at, value, at < n); // here
}
int main() {
  std::vector<float> x(64, 2), out(64);
  auto kernel = jit<grow>("grow(x, out, factor, n)");
  return kernel.launch(grid(1), cpu, x, out, 2.5f, 64) ? 0 : 1;
}
"""


@pytest.mark.skipif(not shutil.which("gdb"), reason="there is no gdb here")
def test_kernels_in_cpp_in_gdb(tmp_path):
    (tmp_path / "grow.cpp").write_text(IN_CPP)
    line = 1 + next(i for i, text in enumerate(IN_CPP.splitlines()) if "// here" in text)
    program = program_of(tmp_path / "grow.cpp", tmp_path, compiler="g++")
    commands = ("set breakpoint pending on", f"break grow.cpp:{line}", "run", "print factor", "print x[63]", "print n", "kill")
    done = subprocess.run(["gdb", "-q", "-batch", *(word for each in commands for word in ("-ex", each)), program], capture_output=True,
                          text=True, timeout=120, env={**os.environ, "TILEWRIGHT_DEBUG_INFO": "1", "TILEWRIGHT_CACHE": "0"})
    shown = done.stdout + done.stderr
    if "ptrace" in shown and "Breakpoint 1," not in shown:
        pytest.skip("processes must not be traced here")
    assert re.search(rf"Breakpoint 1, grow \(.* at \S*/grow.cpp:{line}\n{line}\t  store\(out", shown), shown
    assert re.findall(r"^\$\d+ = (.*)$", shown, re.M) == ["2.5", "2", "64"], shown


@needs_command
def test_variables_change_no_instruction_of_the_examples(tmp_path):
    sys.path.insert(0, str(ROOT / "tools"))
    from example_kernels import KERNELS
    same = 0
    for example, kernel, signature, warps, stages in KERNELS[::3]:
        given = [ROOT / "examples" / f"{example}.py", "--kernel", kernel, "--signature", signature]
        code = [subprocess.run([COMMAND, "compile", *given, "--emit", "asm"], capture_output=True,
                               env={**os.environ, "TILEWRIGHT_DEBUG_INFO": on, "TILEWRIGHT_CACHE": "0"}).stdout for on in "01"]
        assert b".debug_info" in code[1] and b".debug_info" not in code[0]
        chosen = subprocess.run([COMMAND, "explain", *given, "--target", "cpu"], capture_output=True, text=True, check=True).stdout
        if "multiplied together" in chosen or "go from registers to" in chosen:
            continue  # sums that a debugger would not find
        assert instructions(code[0]) == instructions(code[1]), (example, kernel)
        same += 1
    assert same >= 15


SCALARS = """
import triton
import triton.language as tl

@triton.jit
def scalar_kernel(x_ptr, out_ptr):
    x = tl.load(x_ptr + tl.program_id(0))
    y = x.to(tl.float32)
    z = y.to(x_ptr.dtype.element_ty)
    tl.store(out_ptr + tl.program_id(0), z)
"""


@needs_command
@pytest.mark.parametrize("dtype", ["i1", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "fp8e4nv", "fp8e5", "fp8e4b8", "fp8e5b16",
                                   "fp8e4b15", "fp16", "bf16", "fp32", "fp64"])
def test_scalars_of_every_type(tmp_path, dtype):
    path = tmp_path / "scalar.py"
    path.write_text(SCALARS)
    code = [subprocess.run([COMMAND, "compile", path, "--kernel", "scalar_kernel", "--signature", f"x_ptr=*{dtype}, out_ptr=*{dtype}", "--emit",
                            "asm"], capture_output=True, env={**os.environ, "TILEWRIGHT_DEBUG_INFO": on, "TILEWRIGHT_CACHE": "0"}) for on in "01"]
    assert [done.returncode for done in code] == [0, 0], code[1].stderr
    assert b".debug_info" in code[1].stdout and instructions(code[0].stdout) == instructions(code[1].stdout)


@needs_command
def test_places_in_text_of_tiles(script, tmp_path):
    path = script()
    plain, placed = emitted(path, "tt", "0"), emitted(path, "tt", "1")
    assert b"loc(" not in plain
    assert re.search(rb'loc\("%s":%d:' % (re.escape(str(path).encode()), STORE), placed) and b'"y"' in placed
    # When the text is read back, its code has the same locations.
    text = tmp_path / "grow.ttir"
    text.write_bytes(placed)
    code = subprocess.run([COMMAND, "compile", text, "--emit", "asm"], capture_output=True, env={**os.environ, "TILEWRIGHT_DEBUG_INFO": "1"}).stdout
    assert b'"grow.py"' in code and STORE in {int(number) for number in re.findall(rb"\.loc\s+\d+\s+(\d+)", code)}
    again = subprocess.run([COMMAND, "compile", text, "--emit", "tt"], capture_output=True, env={**os.environ, "TILEWRIGHT_DEBUG_INFO": "1"}).stdout
    assert again == placed


def records_of(dump):
    """The records of a jitdump: (kind, bytes after the prefix)."""
    magic, version, size, machine, _, process = struct.unpack_from("<6I", dump)
    assert (magic, version, size, machine) == (0x4A695444, 1, 40, 62)
    records, at = [], size
    while at < len(dump):
        kind, length = struct.unpack_from("<2I", dump, at)
        records.append((kind, dump[at + 16:at + length]))
        at += length
    assert at == len(dump)
    return process, records


def test_jitdump_holds_code_and_lines(script, tmp_path):
    path = script()
    done = subprocess.run([sys.executable, "-m", "tilewright", path], capture_output=True, text=True,
                          env={**os.environ, "TILEWRIGHT_DEBUG_INFO": "1", "JITDUMPDIR": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    (dump,) = tmp_path.glob("jit-*.dump")
    process, records = records_of(dump.read_bytes())
    assert dump.name == f"jit-{process}.dump"
    placed = dict(re.findall(r"^([0-9a-f]+) [0-9a-f]+ (grow_kernel\.\w+)$", done.stdout, re.M))
    loads = {}
    for kind, bytes in records:
        if kind == 0:
            _, _, _, begin, size, _ = struct.unpack_from("<2I4Q", bytes)
            name, code = bytes[40:].split(b"\0", 1)
            assert len(code) == size and any(code)
            loads[name.decode()] = begin
    assert {name: int(begin, 16) for begin, name in placed.items()} == {name: begin for name, begin in loads.items() if "grow_kernel" in name}
    lines, at = set(), 16
    (bytes,) = [bytes for kind, bytes in records if kind == 2 and struct.unpack_from("<Q", bytes)[0] == loads["grow_kernel.program"]]
    for _ in range(struct.unpack_from("<2Q", bytes)[1]):
        _, line, _ = struct.unpack_from("<Q2I", bytes, at)
        end = bytes.index(b"\0", at + 16)
        if bytes[at + 16:end].decode() == str(path):
            lines.add(line)
        at = end + 1
    assert at == len(bytes) and {9, 10, STORE} <= lines


@pytest.mark.skipif(not shutil.which("perf"), reason="there is no perf here")
def test_lines_in_perf(script, tmp_path):
    data, jitted = tmp_path / "perf.data", tmp_path / "jit.data"
    done = subprocess.run(["perf", "record", "-q", "-k", "mono", "-e", "cpu-clock", "-o", data, sys.executable, "-m", "tilewright", script(times=20000)],
                          capture_output=True, text=True, env={**os.environ, "TILEWRIGHT_DEBUG_INFO": "1", "JITDUMPDIR": str(tmp_path)})
    if done.returncode or not data.exists():
        pytest.skip(f"perf cannot record here: {done.stderr.strip()[:100]}")
    subprocess.run(["perf", "inject", "--jit", "-i", data, "-o", jitted], check=True, capture_output=True, cwd=tmp_path)
    report = subprocess.run(["perf", "report", "-i", jitted, "--stdio", "--sort", "dso,symbol,srcline"], capture_output=True, text=True).stdout
    assert re.search(r"jitted-\d+-\d+\.so\s.*grow_kernel\.program\s+grow\.py:(9|10|11)", report), report[:3000]


@pytest.mark.skipif(not shutil.which("perf"), reason="there is no perf here")
def test_names_in_perf(script, tmp_path):
    data = tmp_path / "perf.data"
    record = ["perf", "record", "-q", "-e", "cpu-clock", "-o", data, sys.executable, "-m", "tilewright", script(times=20000)]
    done = subprocess.run(record, capture_output=True, text=True, env={**os.environ, "TILEWRIGHT_DEBUG_INFO": "1"})
    if done.returncode or not data.exists():
        pytest.skip(f"perf cannot record here: {done.stderr.strip()[:100]}")
    report = subprocess.run(["perf", "report", "-i", data, "--stdio", "--sort", "symbol"], capture_output=True, text=True).stdout
    assert "grow_kernel" in report, report[:2000]
