"""The command's help is true: the examples in each --help run, and the manual page is valid."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

import tilewright

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(tilewright.__file__).absolute().parents[2]
COMMANDS = list(dict.fromkeys(re.findall(r'^EXAMPLE\("(\w+)"', (ROOT / "cli" / "examples.def").read_text(), re.M)))


def run(line, folder):
    env = {**os.environ, "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}"}
    return subprocess.run(["bash", "-e", "-c", line], cwd=folder, env=env, capture_output=True, text=True)


def test_every_command_is_here(tmp_path):
    assert sorted(run("tilewright completion words", tmp_path).stdout.split()) == sorted([*COMMANDS, "opt"])


@pytest.mark.parametrize("command", COMMANDS)
def test_examples(command, tmp_path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "add.py").write_text(re.search(r"^```python\n(# add.py.*?)^```", (ROOT / "docs" / "howto" / "verify.md").read_text(), re.M | re.S)[1])
    text = run(f"tilewright {command} --help", tmp_path).stdout
    lines = re.findall(r"^  # (.+)\n  (.+)$", text.partition("\nexamples:\n")[2], re.M)
    assert lines
    for _, line in lines:
        done = run(line, tmp_path)
        assert done.returncode == 0, line + done.stdout + done.stderr


def test_manual_page(tmp_path):
    page = run("tilewright man", tmp_path).stdout
    assert page.startswith('.TH TILEWRIGHT 1') and "\\-\\-roofline FILE.svg" in page and "TILEWRIGHT_CACHE_DIR" in page
    for command in COMMANDS:
        assert f".SS tilewright {command}" in page
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page, capture_output=True, text=True)
        assert done.returncode == 0 and done.stderr == "" and "tilewright bench FILE [options]" in done.stdout
    assert (BUILD / "share" / "man" / "man1" / "tilewright.1").read_text() == page
