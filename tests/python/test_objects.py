"""Objects of `tilewright compile --emit obj` in C programs: variants in one program, and exactly the scratch memory that they say they need."""

import os
import pathlib
import subprocess
import textwrap

import numpy as np
import pytest

import tilewright

BUILD = pathlib.Path(tilewright.__file__).absolute().parent.parent.parent
COMMAND = os.environ.get("TILEWRIGHT_COMMAND", str(BUILD / "bin" / "tilewright"))
COMPILER = "clang-22"

KERNELS = """
import triton
import triton.language as tl

@triton.jit
def scale(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        inner = k + tl.arange(0, BK)
        x = tl.load(a + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0)
        y = tl.load(b + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0.0)
        total += tl.dot(x, y)
    tl.store(c + rows[:, None] * N + columns[None, :], total, mask=(rows[:, None] < M) & (columns[None, :] < N))

@triton.jit
def attention(q, k, v, o, n, BLOCK: tl.constexpr, D: tl.constexpr):
    rows, dims = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + dims[None, :], mask=rows[:, None] < n, other=0.0)
    maximum = tl.full((BLOCK,), -float("inf"), tl.float32)
    total, out = tl.zeros((BLOCK,), tl.float32), tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        keys = tl.load(k + at[None, :] * D + dims[:, None], mask=at[None, :] < n, other=0.0)
        values = tl.load(v + at[:, None] * D + dims[None, :], mask=at[:, None] < n, other=0.0)
        scores = tl.where(at[None, :] < n, tl.dot(query, keys), -float("inf"))
        higher = tl.maximum(maximum, tl.max(scores, 1))
        p, fade = tl.exp(scores - higher[:, None]), tl.exp(maximum - higher)
        out = out * fade[:, None] + tl.dot(p, values)
        total, maximum = total * fade + tl.sum(p, 1), higher
    tl.store(o + rows[:, None] * D + dims[None, :], out / total[:, None], mask=rows[:, None] < n)

@triton.jit
def sorted_rows(x, o, n, B: tl.constexpr):
    at = tl.arange(0, B)
    row = tl.load(x + tl.program_id(0) * n + at, mask=at < n, other=float("inf"))
    tl.store(o + tl.program_id(0) * n + at, tl.sort(row), mask=at < n)

@triton.jit
def running(x, o, n, B: tl.constexpr):
    at = tl.arange(0, B)
    row = tl.load(x + tl.program_id(0) * n + at, mask=at < n, other=0.0)
    tl.store(o + tl.program_id(0) * n + at, tl.cumsum(row, 0) - tl.sum(row, 0), mask=at < n)

@triton.jit
def counts(x, o, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(o + tl.load(x + at, mask=at < n, other=0), tl.full((B,), 1, tl.int32), mask=at < n)
"""

# Scratch memory ends at a protected page, and starts as close after another one as its alignment allows.
CALLER = """
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "kernel.h"

static void *guarded(size_t bytes) {
  size_t page = 4096, room = (bytes + page - 1) / page * page;
  char *all = mmap(0, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED || mprotect(all + page, room, PROT_READ | PROT_WRITE)) exit(2);
  memset(all + page, 0x5a, room);
  return all + page + room - bytes;
}

int main(int argc, char **argv) {
  uint64_t arguments[16];
  size_t sizes[16];
  void *memory[16] = {0};
  int count = argc - 4;
  for (int i = 0; i < count; ++i) {
    const char *text = argv[4 + i];
    if (text[0] != '@') {
      arguments[i] = (uint64_t)strtoll(text, 0, 10);
      continue;
    }
    FILE *file = fopen(text + 1, "rb");
    fseek(file, 0, SEEK_END);
    sizes[i] = (size_t)ftell(file);
    rewind(file);
    memory[i] = malloc(sizes[i] + 64);
    if (fread(memory[i], 1, sizes[i], file) != sizes[i]) return 3;
    fclose(file);
    arguments[i] = (uint64_t)(uintptr_t)memory[i];
  }
  int32_t grid[3] = {atoi(argv[1]), atoi(argv[2]), atoi(argv[3])};
  if (NAME_scratch_bytes % 64 != 0) return 4;
  for (int launch = 0; launch < 2; ++launch) {
    void *scratch = NAME_scratch_bytes ? guarded(NAME_scratch_bytes) : 0;
    if (scratch) memset(scratch, 0, 64);
    if (launch == 0) NAME(arguments, grid, 0, 0, scratch);
    if (launch == 1) NAME(arguments, grid, 0, (int64_t)grid[0] * grid[1] * grid[2], scratch);
  }
  for (int i = 0; i < count; ++i) {
    if (!memory[i]) continue;
    FILE *file = fopen(argv[4 + i] + 1, "wb");
    fwrite(memory[i], 1, sizes[i], file);
    fclose(file);
  }
  printf("%llu\\n", (unsigned long long)NAME_scratch_bytes);
  return 0;
}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "kernels.py").write_text(KERNELS)
    return tmp_path


def command(folder, *words, fails=False):
    done = subprocess.run([COMMAND, *map(str, words)], cwd=folder, capture_output=True, text=True)
    assert (done.returncode != 0) == fails, done.stderr
    return done.stdout + done.stderr


def built(folder, *words):
    subprocess.run([COMPILER, "-O1", "-Wall", "-Werror", *map(str, words), "-lm"], cwd=folder, check=True)


def run(folder, kernel, signature, target, grid, arguments):
    """Runs an object with exactly its scratch memory. Returns that, in bytes; the arrays hold the results."""
    options = [f"kernels.py:{kernel}", "--signature", signature, "--target", target, "--name", "kernel"]
    command(folder, "compile", *options, "--emit", "obj", "-o", "kernel.o")
    command(folder, "compile", *options, "--emit", "header", "-o", "kernel.h")
    (folder / "caller.c").write_text(CALLER.replace("NAME", "kernel"))
    built(folder, "caller.c", "kernel.o", "-o", "caller")
    words = []
    for index, argument in enumerate(arguments):
        if isinstance(argument, np.ndarray):
            argument.tofile(folder / f"{index}.bin")
        words.append(f"@{index}.bin" if isinstance(argument, np.ndarray) else str(argument))
    done = subprocess.run(["./caller", *map(str, grid), *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr)
    for index, argument in enumerate(arguments):
        if isinstance(argument, np.ndarray):
            argument[...] = np.fromfile(folder / f"{index}.bin", argument.dtype).reshape(argument.shape)
    scratch = int(done.stdout)
    assert f"Bytes of scratch memory that each thread brings: {scratch}." in (folder / "kernel.h").read_text()
    explained = command(folder, "explain", f"kernels.py:{kernel}", "--signature", signature, "--target", target)
    assert f"{scratch:,} byte".replace(",", "") in explained.replace(",", ""), explained
    return scratch


LEVELS = ["cpu:sse2", "cpu:avx2", "cpu:avx512"]


def levels():
    """Those that this machine can run."""
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    return [level for level in LEVELS if {"cpu:sse2": "sse2", "cpu:avx2": "avx2", "cpu:avx512": "avx512dq"}[level] in flags]


@pytest.mark.parametrize("target", levels())
@pytest.mark.parametrize("blocks", [(128, 128, 32), (32, 64, 16), (16, 16, 64), (1, 128, 128)])
def test_matmul(folder, target, blocks):
    rng = np.random.default_rng(0)
    m, n, k = 150, 133, 97
    a, b = rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)
    c = np.zeros((m, n), np.float32)
    bm, bn, bk = blocks
    run(folder, "matmul", f"*fp32, *fp32, *fp32, i32, i32, i32, BM={bm}, BN={bn}, BK={bk}", target, (-(-m // bm), -(-n // bn), 1), [a, b, c, m, n, k])
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("target", levels())
def test_attention(folder, target):
    rng = np.random.default_rng(0)
    n, d = 100, 64
    q, k, v = (rng.standard_normal((n, d)).astype(np.float32) for _ in range(3))
    o = np.zeros((n, d), np.float32)
    scratch = run(folder, "attention", f"*fp32, *fp32, *fp32, *fp32, i32, BLOCK=32, D={d}", target, (4, 1, 1), [q, k, v, o, n])
    scores = np.exp(q @ k.T - (q @ k.T).max(1, keepdims=True))
    np.testing.assert_allclose(o, scores / scores.sum(1, keepdims=True) @ v, rtol=1e-4, atol=1e-4)
    assert scratch > 0


@pytest.mark.parametrize("target", levels())
@pytest.mark.parametrize("kernel", ["sorted_rows", "running"])
def test_rows(folder, target, kernel):
    x = np.random.default_rng(0).standard_normal((3, 1000)).astype(np.float32)
    o = np.zeros_like(x)
    run(folder, kernel, "*fp32, *fp32, i32, B=1024", target, (3, 1, 1), [x, o, 1000])
    wanted = np.sort(x, 1) if kernel == "sorted_rows" else np.cumsum(x, 1, dtype=np.float64) - x.sum(1, keepdims=True, dtype=np.float64)
    np.testing.assert_allclose(o, wanted, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("target", levels())
def test_atomics(folder, target):
    x, o = (np.arange(1000) % 7).astype(np.int32), np.zeros(7, np.int32)
    run(folder, "counts", "*i32, *i32, i32, B=256", target, (4, 1, 1), [x, o, 1000])
    np.testing.assert_array_equal(o, np.bincount(x))


def symbols(folder, name):
    """The names that an object defines for others."""
    lines = subprocess.run(["/usr/lib/llvm-22/bin/llvm-nm", "--defined-only", "--extern-only", name], cwd=folder, capture_output=True, text=True, check=True).stdout
    return sorted(line.split()[-1] for line in lines.splitlines())


def test_variants_in_one_program(folder):
    """Each has a name of its own, and exports nothing else."""
    calls, declared = [], []
    for block, target in ((256, "cpu:avx2"), (1024, "cpu:avx2"), (256, "cpu:sse2")):
        file = f"s{block}{target[4:]}"
        options = ["compile", "kernels.py:scale", "--signature", f"*fp32, *fp32, i32, B={block}", "--target", target]
        command(folder, *options, "--emit", "obj", "-o", f"{file}.o")
        command(folder, *options, "--emit", "header", "-o", f"{file}.h")
        names = symbols(folder, f"{file}.o")
        name = names[0]
        assert names == [name, f"{name}_scratch_bytes"] and name.startswith("scale_"), names
        declared.append(f'#include "{file}.h"')
        calls.append(f"  if ({name}_scratch_bytes > sizeof scratch) return 1;\n  {name}(arguments, grid, 0, 1, scratch);\n  if (o[0] != 2 || o[{block - 1}] != 2) return 2;\n  o[0] = o[{block - 1}] = 0;")
    program = "\n".join(declared) + textwrap.dedent("""
        static float x[1024], o[1024];
        static double scratch[4096] __attribute__((aligned(64)));
        int main(void) {
          for (int i = 0; i < 1024; ++i) x[i] = 1;
          uint64_t arguments[3] = {(uint64_t)x, (uint64_t)o, 1024};
          int32_t grid[3] = {1, 1, 1};
        """) + "\n".join(calls) + "\n  return 0;\n}\n"
    (folder / "all.c").write_text(program)
    built(folder, "all.c", *sorted(path.name for path in folder.glob("s*.o")), "-o", "all")
    assert subprocess.run(["./all"], cwd=folder).returncode == 0
    for source, compiler in (("all.c", "gcc"), ("all.cpp", "g++")):  # the headers are those of C++ as well
        (folder / source).write_text(program)
        subprocess.run([compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", source], cwd=folder, check=True)


def test_names(folder):
    options = ["compile", "kernels.py:scale", "--signature", "*fp32, *fp32, i32, B=256", "--target", "cpu:avx2"]
    command(folder, *options, "--emit", "obj", "--name", "mine", "-o", "mine.o")
    assert symbols(folder, "mine.o") == ["mine", "mine_scratch_bytes"]
    first = command(folder, *options, "--emit", "header")
    assert first == command(folder, *options, "--emit", "header"), "the name does not change"
    assert "'2x' is not a name in C" in command(folder, *options, "--emit", "obj", "--name", "2x", fails=True)
    assert "--name is of objects" in command(folder, *options, "--emit", "asm", "--name", "x", fails=True)
