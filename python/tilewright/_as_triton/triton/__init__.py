"""`import triton` where the folder above this one is on the path: Tilewright, under that name.

`PYTHONPATH=$(python -m tilewright --path)` gives it to a program and to all that it starts.
"""

import sys
from pathlib import Path

try:
    import tilewright
except ImportError:  # the package itself is not on the path: this file lies in it
    sys.path.append(str(Path(__file__).absolute().parents[3]))
    import tilewright

tilewright.install()
