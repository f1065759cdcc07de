"""The progress of long work, as one line on a terminal. Nothing is shown in files and pipes, or of short work."""

import contextlib
import os
import sys
import time

_WIDTH = 24
_PATIENCE = 0.5  # seconds before a bar is shown


def _columns():
    """The width of the terminal: a longer line would wrap, and could not be erased."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


class _Bar:
    def __init__(self, title, total):
        self.title, self.total, self.done = title, total, 0
        self.start = time.monotonic()
        self.is_shown = False

    def step(self, what=""):
        """One more piece is done; `what` comes next."""
        self.done = min(self.done + 1, self.total)
        seconds = time.monotonic() - self.start
        if seconds < _PATIENCE or not sys.stderr.isatty():
            return
        filled = _WIDTH * self.done // self.total
        line = f"{self.title} [{'#' * filled}{'.' * (_WIDTH - filled)}] {self.done} of {self.total}, {seconds:.0f} s  {what}"
        print("\r\033[K" + line[:_columns() - 1], end="", file=sys.stderr, flush=True)
        self.is_shown = True

    def erase(self):
        if self.is_shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self.is_shown = False


@contextlib.contextmanager
def progress(title, total):
    """`with progress("tuning", 10) as bar:`, and bar.step() after each of the ten pieces."""
    bar = _Bar(title, max(total, 1))
    try:
        yield bar
    finally:
        bar.erase()
