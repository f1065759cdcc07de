"""tools/check_attributes.py compares the comments of ttg's attributes with the code that writes and reads them."""

import pathlib
import shutil

import pytest

import tree_checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL, TABLE = pathlib.Path("tools/check_attributes.py"), pathlib.Path("src/gpu/ttg/ttg_attributes.def")
HOIST = pathlib.Path("src/gpu/tiles/specialize/hoist_loads.cpp")
pytestmark = pytest.mark.skipif(not (ROOT / TOOL).exists(), reason="needs the source tree")


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / TOOL, tmp_path / TOOL)
    for folder in ("src/gpu", "src/driver"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


def check(tree, *change):
    return tree_checks.check(tree, TOOL, *change)


def test_the_tree_passes(tree):
    assert check(tree) == []


def test_an_attribute_that_nothing_writes(tree):
    assert check(tree, HOIST, "load->setAttr(ttg::hoistedName, UnitAttr::get(load.getContext()));", ";") == [
        f"{TABLE}: hoistedName is never written", f"{TABLE}: hoistedName is not written by hoist-loads"]


def test_an_attribute_that_nothing_reads(tree):
    path = pathlib.Path("src/gpu/thread/memory/atomics.cpp")
    assert check(tree, path, "op->hasAttr(ttg::firstCtaName)", "false") == [
        f"{TABLE}: no code has read firstCtaName", f"{TABLE}: firstCtaName is not read by lower-to-threads"]


def test_a_step_that_the_comment_leaves_out(tree):
    (tree / HOIST).write_text((ROOT / HOIST).read_text() + "// more\nbool isMarked(Operation *op) { return op->hasAttr(ttg::dotChoiceName); }\n")
    line = len((ROOT / HOIST).read_text().splitlines()) + 2
    assert check(tree) == [f"{HOIST}:{line}: dotChoiceName is read here, but not by hoist-loads according to {TABLE}"]


def test_a_step_that_does_not_access_it(tree):
    assert check(tree, TABLE, "Written by hoist-loads; read by lower-to-threads.", "Written by hoist-loads; read by lower-to-threads and stage-rows.") == [
        f"{TABLE}: hoistedName is not read by stage-rows"]


def test_a_word_that_is_no_step(tree):
    assert "is written by 'hoisting', which is no step" in check(tree, TABLE, "Written by hoist-loads;", "Written by hoisting;")[0]


def test_a_comment_without_readers(tree):
    assert check(tree, TABLE, "Written by hoist-loads; read by lower-to-threads.", "Written by hoist-loads.") == [
        f"{TABLE}: hoistedName does not say by which steps it is read"]


def test_a_file_of_no_step(tree):
    (tree / "src/gpu/tiles/marks.cpp").write_text("bool isMarked(Operation *op) { return op->hasAttr(ttg::hoistedName); }\n")
    assert check(tree) == ["src/gpu/tiles/marks.cpp:1: tools/check_attributes.py does not know to which steps this file belongs"]
