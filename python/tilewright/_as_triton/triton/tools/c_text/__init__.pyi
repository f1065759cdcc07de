# Written by tools/stubs.py from the tables of builtins: edit those.
from tilewright.tools.c_text import *
