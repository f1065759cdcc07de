"""tools/check_includes.py finds files that build only with precompiled headers."""

import pathlib
import shutil

import pytest

import tree_checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL, FILE = pathlib.Path("tools/check_includes.py"), pathlib.Path("src/gpu/thread/thread_context.cpp")
pytestmark = pytest.mark.skipif(not (ROOT / TOOL).exists() or not shutil.which("llvm-config-22"), reason="needs the source tree and LLVM")


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / TOOL, tmp_path / TOOL)
    shutil.copytree(ROOT / "src", tmp_path / "src")
    return tmp_path


def test_the_tree_passes(tree):
    assert tree_checks.check(tree, TOOL) == []


def test_a_dialect_without_its_header(tree):
    message = f"{FILE}: uses scf::IfOp and does not include mlir/Dialect/SCF/IR/SCF.h"
    assert tree_checks.check(tree, TOOL, FILE, '#include "mlir/Dialect/SCF/IR/SCF.h"\n', "") == [message]


def test_a_name_in_a_comment_needs_no_header(tree):
    assert tree_checks.check(tree, TOOL, FILE, "using namespace mlir;", "using namespace mlir; // not math::SinOp") == []


def test_a_header_of_a_header_counts(tree):
    change = FILE, "using namespace mlir;", "using namespace mlir;\nvoid f(ModuleOp);"
    assert tree_checks.check(tree, TOOL, *change) == []
