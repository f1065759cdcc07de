# Written by tools/stubs.py from the tables of builtins: edit those.
from tilewright.compiler.ttgir_layouts import *
