"""Where programs are."""

import os
import shutil


def find_program(name):
    """The path of a program: `name` itself if it has folders, or else what the variable PATH leads to; None if there is none.

    An empty part of PATH means the present folder to a shell. What lies there is not run."""
    parts = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return shutil.which(name, path=os.pathsep.join(filter(None, parts)))
