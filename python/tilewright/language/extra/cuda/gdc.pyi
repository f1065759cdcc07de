# Written by tools/stubs.py from the tables of builtins: edit those.
from . import gdc_wait as gdc_wait, gdc_launch_dependents as gdc_launch_dependents
