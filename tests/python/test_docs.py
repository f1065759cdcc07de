"""The how-tos do what they say: their files are written, and their commands run, in order.

A block of Python that begins with "# NAME.py" is that file; blocks of sh are run, line by line; other blocks are for reading.
"""

import os
import pathlib
import re
import subprocess

import pytest

import tilewright

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
HOW_TOS = ["authors.md"]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


@pytest.mark.parametrize("name", HOW_TOS)
def test_how_to(name, tmp_path):
    build = pathlib.Path(tilewright.__file__).absolute().parents[2]
    env = {**os.environ, "PATH": f"{build / 'bin'}:{os.environ['PATH']}"}
    ran = 0
    for language, text in _BLOCK.findall((DOCS / name).read_text()):
        if language == "python":
            file = re.match(r"# (\w+\.py)\n", text)
            assert file, f"a block of Python without the name of its file: {text[:60]}"
            (tmp_path / file[1]).write_text(text)
        if language == "sh":
            done = subprocess.run(["bash", "-e", "-c", text], cwd=tmp_path, env=env, capture_output=True, text=True)
            assert done.returncode == 0, text + done.stdout + done.stderr
            ran += 1
    assert ran
