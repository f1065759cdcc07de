"""`tilewright build` of tuned kernels and of kernels with heuristics: which configuration and which form of the kernel a launch takes."""

import copy
import ctypes
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from test_build import ROOT, command, launch, pointer, runtime

HEAD = """
import triton
import triton.language as tl

"""
TUNE = '@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 1024})], key=["n"])\n'
# The kernel writes its block size, so a test sees the configuration; masked or not, as EVEN says.
FILL = """
@triton.jit
def fill(out, n, BLOCK: tl.constexpr, {more}: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = {value}
    {store}
"""
MODES = HEAD + TUNE + FILL.format(more="MODE", value="-BLOCK if MODE == 'negative' else BLOCK", store="tl.store(out + at, value, mask=at < n)")
EVEN = FILL.format(more="EVEN", value="BLOCK", store="tl.store(out + at, value, mask=None if EVEN else at < n)")
RULE = "@triton.heuristics({'EVEN': lambda args: args['n'] % args['BLOCK'] == 0})"


def measured(folder, source, *arguments, small=64, large=1024):
    """A file of measurements: `small` wins for 100 elements, `large` for 100000. The winners are set by hand."""
    (folder / "fill.py").write_text(source)
    environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(folder / "cache"), "TILEWRIGHT_CHECK_TUNING": "0"}
    given = [word for argument in arguments for word in ("--arg", argument)]
    for n in (100, 100000):
        command("tune", folder / "fill.py", "--grid", "cdiv(n, BLOCK)", "--arg", f"out=empty:fp32[{n + 2000}]", "--arg", f"n={n}", *given, env=environment)
    command("tune", "--export", folder / "tuned.json", env=environment)
    content = json.loads((folder / "tuned.json").read_text())
    for entry in content["tuned"]:
        win(entry, small if "n=100000" not in entry["key"] else large)
    (folder / "tuned.json").write_text(json.dumps(content))
    return content


def win(entry, block):
    entry["best"] = next(i for i, config in enumerate(entry["configs"]) if f"BLOCK={block}," in config["config"])


def on(device, entries, small, large):
    """The same measurements on another device, with other winners."""
    result = copy.deepcopy(entries)
    for entry in result:
        entry["device"] = device
        win(entry, small if "n=100000" not in entry["key"] else large)
    return result


def build(folder, signatures, *words, target="cpu:sse2", name="libfill.so", check=True, **options):
    given = [word for signature in signatures for word in ("--signature", signature)]
    return command("build", folder / "fill.py", *given, "--target", target, "--grid", "cdiv(n, BLOCK)", "-o", folder / name, "--header", folder / "fill.h", *words,
                   check=check, **options)


def function(folder, name="libfill.so"):
    runtime()
    return ctypes.CDLL(str(folder / name)).fill


def test_constants_that_the_tuner_does_not_choose_are_arguments(tmp_path):
    measured(tmp_path, MODES, "MODE='plain'")
    build(tmp_path, ["*fp32, i32, MODE='plain'", "*fp32, i32, MODE='negative'"], "--tuned-file", tmp_path / "tuned.json")
    assert "const char *MODE_, TwError" in (tmp_path / "fill.h").read_text()
    fill = function(tmp_path)
    for mode, sign in ((b"plain", 1), (b"negative", -1)):
        for n, block in ((100, 64), (100000, 1024)):
            out = np.zeros(n, np.float32)
            assert launch(fill, pointer(out), n, mode) is None
            np.testing.assert_array_equal(out, sign * block)
    code, text = launch(fill, pointer(out), 100, b"other")
    assert code == 1 and "MODE = 'other'" in text


def test_conditions_of_several_signatures(tmp_path):
    """A constant that goes with a divisibility: without it, a launch of 112 elements would write a whole block."""
    measured(tmp_path, HEAD + TUNE + EVEN, "EVEN=False", small=1024)
    build(tmp_path, ["*fp32, i32:16, EVEN=True", "*fp32, i32, EVEN=False"], "--tuned-file", tmp_path / "tuned.json", name="libeven.so")
    fill = function(tmp_path, "libeven.so")
    for n, even in ((112, False), (100, False), (2048, True)):
        out = np.zeros(4096, np.float32)
        assert launch(fill, pointer(out), n, ctypes.c_int64(even)) is None
        assert (out[:n] == 1024).all() and (out[n:] == 0).all()
    code, text = launch(fill, pointer(out), 100, ctypes.c_int64(True))
    assert code == 1 and "there is no specialization" in text


def test_an_integer_constant_in_the_key(tmp_path):
    source = MODES.replace('key=["n"]', 'key=["n", "MODE"]').replace("'negative'", "2")
    content = measured(tmp_path, source, "MODE=1")
    content["tuned"] += [{**entry, "key": entry["key"].replace("MODE=1", "MODE=2")} for entry in content["tuned"]]
    (tmp_path / "tuned.json").write_text(json.dumps(content))
    build(tmp_path, ["*fp32, i32, MODE=1", "*fp32, i32, MODE=2"], "--tuned-file", tmp_path / "tuned.json", name="libkey.so")
    fill = function(tmp_path, "libkey.so")
    for mode, sign in ((1, 1), (2, -1)):
        for n, block in ((100, 64), (100000, 1024)):
            out = np.zeros(n, np.float32)
            assert launch(fill, pointer(out), n, ctypes.c_int64(mode)) is None
            np.testing.assert_array_equal(out, sign * block)


def test_measurements_are_those_of_the_target(tmp_path):
    content = measured(tmp_path, MODES, "MODE='plain'")
    file, entries = tmp_path / "tuned.json", content["tuned"]

    def attempt(devices, target, *words, **options):
        file.write_text(json.dumps({**content, "tuned": [entry for device, winners in devices.items() for entry in on(device, entries, *winners)]}))
        done = build(tmp_path, ["*fp32, i32, MODE='plain'"], "--tuned-file", file, *words, target=target, check=False, name="libfill.a", **options)
        if done.returncode:
            return done.stderr
        return dict.fromkeys(re.findall(r"BLOCK=(\d+), MODE='plain'; (.*)", (tmp_path / "fill.h").read_text()))

    old, new, other = "cuda NVIDIA A100 sm_80, 108 multiprocessors", "cuda NVIDIA H100 sm_90a, 132 multiprocessors", "cuda NVIDIA H200 sm_90a, 132 multiprocessors"
    assert set(attempt({old: (64, 64), new: (1024, 1024)}, "cuda:sm_80,cuda:sm_90a")) == {("64", "cuda:sm_80"), ("1024", "cuda:sm_90a")}
    assert set(attempt({old: (64, 64), new: (1024, 1024)}, "cuda:sm_90")) == {("1024", "cuda:sm_90")}
    text = attempt({old: (64, 64)}, "cuda:sm_90a")
    assert "finds no measurements of kernel 'fill'" in text and "cuda:sm_90a" in text and old in text
    assert set(attempt({old: (64, 64)}, "cuda:sm_90a", "--tuned-device", "A100")) == {("64", "cuda:sm_90a")}
    text = attempt({new: (64, 1024), other: (1024, 64)}, "cuda:sm_90a")
    assert "several devices" in text and new in text and other in text and "--tuned-device" in text
    assert set(attempt({new: (64, 64), other: (1024, 1024)}, "cuda:sm_90a", "--tuned-device", "H200")) == {("1024", "cuda:sm_90a")}
    text = attempt({new: (64, 64)}, "cuda:sm_90a", "--tuned-device", "B200")
    assert "no measurements of kernel 'fill' on a device 'B200'" in text and new in text
    # A level takes its own measurements, or those of the next higher level.
    levels = {"cpu a avx2, 4 threads": (64, 64), "cpu b avx512, 8 threads": (1024, 1024)}
    assert set(attempt(levels, "cpu:sse2,cpu:avx2,cpu:avx512")) == {("64", "cpu:avx2, cpu:sse2"), ("1024", "cpu:avx512")}
    assert "finds no measurements" in attempt(levels, "cpu:amx") and "finds no measurements" in attempt(levels, "cpu:neon")
    assert set(attempt(levels, "cpu:neon", "--tuned-device", "cpu b")) == {("1024", "cpu:neon")}
    assert "several devices" in attempt({"cpu a avx2, 4 threads": (64, 64), "cpu a avx2, 8 threads": (64, 64)}, "cpu:avx2")
    assert "--tuned-device is for --tuned" in build(tmp_path, ["*fp32, i32, MODE='plain'"], "--tuned-device", "a", check=False).stderr


def test_a_launch_takes_the_measurements_of_its_level(tmp_path):
    content = measured(tmp_path, MODES, "MODE='plain'")
    entries = on("cpu a sse2, 4 threads", content["tuned"], 64, 1024) + on("cpu b avx2, 8 threads", content["tuned"], 1024, 64)
    (tmp_path / "tuned.json").write_text(json.dumps({**content, "tuned": entries}))
    build(tmp_path, ["*fp32, i32, MODE='plain'"], "--tuned-file", tmp_path / "tuned.json", target="cpu:sse2,cpu:avx2")
    script = f"""
import sys
sys.path.insert(0, {str(ROOT / 'tests' / 'python')!r})
from pathlib import Path
from test_build_tuned import function, launch, np, pointer
for n in (100, 100000):
    out = np.zeros(n, np.float32)
    assert launch(function(Path({str(tmp_path)!r})), pointer(out), n) is None
    print(int(out[0]), int(out[-1]))
"""
    for level, expected in (("sse2", "64 64\n1024 1024\n"), ("avx2", "1024 1024\n64 64\n")):
        assert subprocess.run([sys.executable, "-c", script], env={**os.environ, "TILEWRIGHT_CPU": level}, capture_output=True, text=True, check=True).stdout == expected


def check_sizes(fill, blocks):
    for n, block in blocks.items():
        out = np.zeros(n + 2048, np.float32)
        assert launch(fill, pointer(out), n) is None
        assert (out[:n] == block).all() and (out[n:] == 0).all(), n


def test_heuristics_of_arguments(tmp_path):
    """The launcher evaluates them for the configuration that it takes."""
    source = HEAD + TUNE + RULE + EVEN
    measured(tmp_path, source)
    build(tmp_path, ["*fp32, i32"], "--tuned-file", tmp_path / "tuned.json", name="libtuned.so")
    assert re.findall(r"BLOCK=\d+, EVEN=\w+", (tmp_path / "fill.h").read_text()) == [f"BLOCK={block}, EVEN={even}" for block in (64, 1024) for even in (True, False)]
    check_sizes(function(tmp_path, "libtuned.so"), {1: 64, 64: 64, 112: 64, 128: 64, 100000: 1024, 102400: 1024, 99968: 1024})
    build(tmp_path, ["*fp32, i32:16, BLOCK=512", "*fp32, i32, BLOCK=512"], name="libplain.so")
    check_sizes(function(tmp_path, "libplain.so"), dict.fromkeys((1, 256, 512, 112, 100, 1000, 1024), 512))
    assert "EVEN_, TwError" not in (tmp_path / "fill.h").read_text()
    done = build(tmp_path, ["*fp32, i32:16, EVEN=True", "*fp32, i32, EVEN=False"], "--tuned-file", tmp_path / "tuned.json", check=False)
    assert done.returncode == 1 and "give 'EVEN' several values, and its heuristic depends on the configuration" in done.stderr
    done = build(tmp_path, ["*fp32, i32, EVEN=False"], "--tuned-file", tmp_path / "tuned.json", name="libmasked.so")
    assert "warning: 'EVEN' is False in all launches" in done.stderr
    check_sizes(function(tmp_path, "libmasked.so"), {64: 64, 100000: 1024, 102400: 1024})
    done = build(tmp_path, ["*fp32, i32:16, BLOCK=64, EVEN=False", "*fp32, i32, BLOCK=64"], check=False)
    assert done.returncode == 1 and "some signatures give 'EVEN', and others leave it to its heuristic" in done.stderr


RULES = {
    "lambda args: args['n'] % args['BLOCK'] == 0 and args['n'] > 64": lambda n, m: n % 64 == 0 and n > 64,
    "lambda args: not (args['n'] <= 100 or n_is_odd)": lambda n, m: n > 100,
    "lambda args: 64 <= args['n'] < args['m'] + 64": lambda n, m: 64 <= n < m + 64,
    "lambda args: args['m'] != 0 and args['n'] % args['m'] == 0": lambda n, m: m != 0 and n % m == 0,
    "lambda args: args['m'] == 0 or args['n'] // args['m'] == 2": lambda n, m: m == 0 or n // m == 2,
    "lambda a: triton.cdiv(a['n'], a['BLOCK']) * a['BLOCK'] == min(a['n'], LIMIT)": lambda n, m: n % 64 == 0 and n <= 128,
    "lambda a: a['out'] is not None and not a['n'] % 2": lambda n, m: n % 2 == 0,
    "lambda a: triton.next_power_of_2(a['n']) == a['n']": lambda n, m: n & (n - 1) == 0,
    "named": lambda n, m: n % 64 == 0,
    "lambda a: a['BLOCK'] > 32 and a.get('m') is None": None,
    "lambda a: 'm' in a": lambda n, m: True,
    "lambda a: a['BLOCK'] % 64 == 0": lambda n, m: True,
    "lambda a: a['n']": None,
    "lambda a: 128 if a['n'] > 3 else 64": None,
    "lambda a: a['out'].numel() > 3": None,
    "lambda a: a['scale'] > 1": None,
    "several": None,
}
SHOWN = HEAD + """
LIMIT, n_is_odd = 128, False
def named(args):
    return args['n'] % args['BLOCK'] == 0
def several(args):
    if args['n'] > 3:
        return True
    return False
@triton.heuristics({{'FORM': {rule}}})
@triton.jit
def fill(out, n, m, scale, BLOCK: tl.constexpr, FORM: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, 1 if FORM else 2, mask=at < n)
"""


@pytest.mark.parametrize("rule", RULES)
def test_expressions_of_heuristics(tmp_path, rule):
    (tmp_path / "fill.py").write_text(SHOWN.format(rule=rule))
    name = f"librule{list(RULES).index(rule)}.so"
    done = build(tmp_path, ["*fp32, i32, i32, fp32, BLOCK=64"], name=name, check=False)
    if RULES[rule] is None:
        assert done.returncode == 1 and "'FORM' of kernel 'fill' is not given, and its heuristic depends on arguments of the launch" in done.stderr, done.stderr
        return
    assert done.returncode == 0, done.stderr
    fill = function(tmp_path, name)
    for n in (1, 2, 63, 64, 65, 100, 128, 130, 192):
        for m in (0, 1, 3, 32, 64, 128, -5):
            out = np.zeros(n, np.float32)
            assert launch(fill, pointer(out), n, m, ctypes.c_float(1)) is None
            np.testing.assert_array_equal(out, 1 if RULES[rule](n, m) else 2)


def test_heuristics_after_heuristics(tmp_path):
    (tmp_path / "fill.py").write_text(HEAD + """
@triton.heuristics({'EVEN': lambda args: args['n'] % args['BLOCK'] == 0, 'FORM': lambda args: 3 if args['EVEN'] else 4})
@triton.jit
def fill(out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr, FORM: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, FORM, mask=at < n)
""")
    build(tmp_path, ["*fp32, i32, BLOCK=64"], name="libafter.so")
    check_sizes(function(tmp_path, "libafter.so"), {64: 3, 65: 4, 128: 3})
    # A division by 0 is an error of the launch, as in Python.
    (tmp_path / "fill.py").write_text(SHOWN.format(rule="lambda args: args['n'] % args['m'] == 0"))
    build(tmp_path, ["*fp32, i32, i32, fp32, BLOCK=64"], name="libzero.so")
    out = np.zeros(64, np.float32)
    code, text = launch(function(tmp_path, "libzero.so"), pointer(out), 64, 0, ctypes.c_float(1))
    assert code == 1 and "there is no specialization" in text and (out == 0).all()
    # Other tools say that the parameter is a heuristic's.
    done = command("compile", tmp_path / "fill.py", "--signature", "*fp32, i32, i32, fp32, BLOCK=64", "--emit", "tt", check=False)
    assert "'FORM' is not given; the heuristic of 'FORM' depends on arguments of the launch" in done.stderr


def test_the_first_configuration_is_named(tmp_path):
    (tmp_path / "fill.py").write_text(MODES)
    done = build(tmp_path, ["*fp32, i32:16, MODE='plain'", "*fp32, i32, MODE='plain'"], name="libfirst.so")
    assert done.stderr.count("warning:") == 1
    assert "warning: kernel 'fill' has 2 configurations, and the code is for the constants of the first: BLOCK=64" in done.stderr
    assert build(tmp_path, ["*fp32, i32, MODE='plain', BLOCK=64"], name="libfirst.so").stderr == ""


def test_measurements_are_dependencies(tmp_path):
    measured(tmp_path, MODES, "MODE='plain'")
    words = (["*fp32, i32, MODE='plain'"], "--depfile", tmp_path / "fill.d")
    build(tmp_path, *words, "--tuned-file", tmp_path / "tuned.json")
    assert f"{tmp_path / 'tuned.json'}\n" in (tmp_path / "fill.d").read_text()
    build(tmp_path, *words, "--tuned", env={**os.environ, "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache")})
    files = re.findall(r"\S+\.tuned\b", (tmp_path / "fill.d").read_text())
    assert len(files) == 2 and all(file.startswith(str(tmp_path / "cache")) and os.path.exists(file) for file in files)
