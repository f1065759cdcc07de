"""Tests the pages for authors of kernels: their files are written, and their commands run, in order, each page in a folder of its own.

A block of Python, C or C++ that begins with "# NAME.py" (or "// NAME.cpp") is that file; blocks of sh are run; a block after <!-- needs torch --> is left out if there
is no PyTorch, and a block after <!-- exact --> is a part of the preceding commands' output. A block of Python without a name is a part of a file of
its page, or of a kernel in which it compiles. Other C++ is an excerpt of a program in examples/. Other blocks of text show output of an earlier run, and blocks of
console are for other machines.
"""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tilewright

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = ["index.md", *sorted(path.relative_to(DOCS).as_posix() for folder in ("tutorial", "howto", "explanation")
                             for path in (DOCS / folder).glob("*.md") if not path.name.endswith(".zh.md"))]
BLOCK = re.compile(r"(?:<!-- (needs \w+|exact) -->\n)?^```(\w*)\n(.*?)^```$", re.M | re.S)
FILE = re.compile(r"(?:#|//) (\w+\.(?:py|cpp|c))\n")
LANGUAGES = {"python", "c", "sh", "text", "console", "cpp", "cmake"}
PART = """import tilewright as triton
import tilewright.language as tl

@triton.jit
def kernel(x_ptr, stride):
    x = tl.load(x_ptr + tl.arange(0, 8))
{}
"""


def run(text, folder):
    build = pathlib.Path(tilewright.__file__).absolute().parents[2]
    env = {**os.environ, "PATH": os.pathsep.join([str(build / "bin"), str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])}
    done = subprocess.run(["bash", "-e", "-c", text], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, text + done.stdout + done.stderr
    return done.stdout + done.stderr


def check_part(text, files, folder):
    """Checks a block that is a part of a file of the page, a kernel, or a part of a kernel."""
    if any(text in file for file in files) or "@triton.jit" in text and compile(text, "part", "exec"):
        return
    (folder / "part.py").write_text(PART.format(textwrap.indent(textwrap.dedent(text), "    ")))
    scope = {"__name__": "part"}
    exec(compile((folder / "part.py").read_text(), str(folder / "part.py"), "exec"), scope)
    with tilewright.engine("interpret"):
        scope["kernel"][(1,)](np.zeros(1 << 16, np.float32), 64)


@pytest.mark.parametrize("page", PAGES)
def test_blocks(page, tmp_path):
    blocks = BLOCK.findall((DOCS / page).read_text())
    assert {language for _, language, _ in blocks} <= LANGUAGES
    files, output = [text for _, _, text in blocks if FILE.match(text)], ""
    for note, language, text in blocks:
        if note.startswith("needs") and importlib.util.find_spec(note.split()[1]) is None:
            continue
        if name := FILE.match(text):
            (tmp_path / name[1]).write_text(text)
        elif language == "python":
            check_part(text, files, tmp_path)
        elif language == "sh" and ("clang-22" not in text or shutil.which("clang-22")):
            output = run(text, tmp_path)
        elif note == "exact":
            assert [line for line in text.splitlines() if line not in output] == [], output
        elif language == "cpp":
            programs = [path.read_text() for path in (ROOT / "examples").glob("*.cpp")]
            assert any(all(line.strip() in program for line in text.splitlines()) for program in programs), text
