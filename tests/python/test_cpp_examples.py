"""Kernels in C++: each example computes the right results, and has the IR of its Python twin."""
import shutil
import subprocess
from pathlib import Path

import pytest

from tile_ir import effects_of

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = sorted((ROOT / "examples" / "cpp").glob("[0-9]*.cpp"))
POINTERS = {"f": "*fp32", "k": "*kfp32"}


def integers(count):
    return ", ".join(["i32"] * count)


# The signatures of the Python kernels for the template arguments of those in C++, in the order in which the example prints them. Python's kernels have no
# parameter for None, so of those in example 13 the forms with sums are the same.
TWINS = {
    "01": [("add_kernel", "*kfp32, *kfp32, *fp32, i32, 1024")],
    "02": [("softmax_kernel", "*fp32, *kfp32, i32, i32, i32, i32, 1024, 2")],
    "03": [("matmul_kernel", f"*kfp32, *kfp32, *fp32, {integers(9)}, 64, 64, 32")],
    "04": [("grouped_matmul_kernel", f"*kfp32, *kfp32, *fp32, {integers(9)}, 64, 64, 32, 8")],
    "05": [("block_matmul_kernel", f"*kfp32, *kfp32, *fp32, {integers(9)}, 64, 64, 64")],
    "06": [("tuned_matmul_kernel", f"*kfp32, *kfp32, *fp32, {integers(9)}, 64, 64, 64, 8, False, 'leaky_relu'")],
    "07": [("attention_kernel", f"*kfp32, *kfp32, *kfp32, *fp32, fp32, {integers(19)}, 32, True, 64, 64, True, False")],
    "08": [("gelu_dropout_kernel", "*kfp32, *fp32, i32, fp32, i32, 1024")],
    "09": [("layer_norm_kernel", "*kfp32, *kfp32, *kfp32, *fp32, *fp32, *fp32, i32, i32, i32, fp32, 1024")],
    "10": [("int8_matmul_kernel", f"*ki8, *ki8, *kfp32, *kfp32, *i32, *fp32, {integers(9)}, 64, 64, 64")],
    "11": [("causal_reduce_kernel", "*kfp32, *fp32, *i32, *fp32, i32, i32, 8, 128")],
    "12": [("scaled_matmul_kernel", f"*ku8, *ku8, *ku8, *ku8, *fp32, {integers(8)}, 64, 64, 64")],
    "13": [("rows_kernel", f"*kfp32, *kfp32, *kfp32, *fp32, *fp32, *fp32, {integers(10)}, 16, 64"),
           ("keys_kernel", f"*kfp32, *kfp32, *kfp32, *kfp32, *kfp32, *kfp32, *fp32, *fp32, *fp32, fp32, {integers(26)}, 16, True, 32, 64"),
           ("queries_kernel", f"*kfp32, *kfp32, *kfp32, *kfp32, *kfp32, *kfp32, *fp32, fp32, {integers(22)}, 16, True, 64, 32"),
           ("round_kernel", f"*kfp32, *fp32, fp32, {integers(6)}, 16, 64")],
    "14": [("split_k_kernel", f"*kfp32, *kfp32, *fp32, {integers(6)}, 512, 64, 64, 64"), ("add_parts_kernel", "*kfp32, *fp32, i32, 4, 1024")],
    "15": [("grouped_gemm_kernel", f"*kfp32, *kfp32, *fp32, *ki32, *ki32, *ki32, {integers(6)}, 64, 64, 64")],
    "16": [("fp8_matmul_kernel", f"*ku8, *ku8, *kfp32, *kfp32, *fp32, {integers(6)}, 64, 144, 128, 16, 128")],
}


def built(source, folder, compiler):
    library = ROOT / "build" / "lib"
    program = folder / source.stem
    command = [compiler, "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT / 'include'}", str(source), f"-L{library}", f"-Wl,-rpath,{library}",
               "-ltilewright", "-o", str(program)]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr[:4000]
    return program


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_python_example_has_a_cpp_twin():
    numbers = {path.name[:2] for path in (ROOT / "examples").glob("[0-9]*.py")}
    assert numbers == {path.name[:2] for path in EXAMPLES} == set(TWINS)


@pytest.mark.parametrize("source", EXAMPLES, ids=lambda path: path.stem)
def test_results_and_ir(source, tmp_path):
    program = built(source, tmp_path, "clang++-22")
    assert "are right" in output(program)
    python = next((ROOT / "examples").glob(source.name[:2] + "*.py"))
    for (kernel, signature), text in zip(TWINS[source.name[:2]], output(program, "--tt").split("// -----\n"), strict=True):
        twin = output(shutil.which("tilewright"), "compile", str(python), "--kernel", kernel, "--signature", signature, "--emit", "tt")
        assert effects_of(text) == effects_of(twin), kernel


@pytest.mark.parametrize("compiler", ["g++", "clang++-16"])
@pytest.mark.parametrize("source", EXAMPLES, ids=lambda path: path.stem)
def test_results_with_other_compilers(source, compiler, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    assert "are right" in output(built(source, tmp_path, compiler))
