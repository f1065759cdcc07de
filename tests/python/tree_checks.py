"""Runs a checking tool of the repository on a copy of a part of it."""

import subprocess
import sys


def check(tree, tool, path=None, old="", new=""):
    """The messages of `tool` in the folder `tree`, after a change of a file there: `old`, which stands in it once, becomes `new`."""
    if path:
        text = (tree / path).read_text()
        assert text.count(old) == 1
        (tree / path).write_text(text.replace(old, new))
    done = subprocess.run([sys.executable, str(tree / tool)], capture_output=True, text=True)
    assert not done.stderr and done.returncode == bool(done.stdout)
    return done.stdout.splitlines()
