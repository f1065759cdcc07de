"""Where programs are."""

import os
import shutil


def find_program(name):
    """Returns the path of a program: `name` itself if it has folders, else the program of this name in PATH; None if there is none.

    An empty part of PATH means the current folder to a shell. Programs there are not run."""
    parts = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return shutil.which(name, path=os.pathsep.join(filter(None, parts)))
