"""The table that tests/unit/small_floats_test.cpp compares the simulator's number formats with is that of ml_dtypes."""

import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed (tools/requirements.txt)")
UNIT = pathlib.Path(__file__).resolve().parent.parent / "unit"


def test_table_is_what_its_script_writes():
    written = subprocess.run([sys.executable, UNIT / "small_floats_table.py"], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert written == (UNIT / "small_floats_table.h").read_text()
    assert written.count("0x1.") > 500
