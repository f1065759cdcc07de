# Written by tools/stubs.py from the tables of builtins: edit those.
from . import globaltimer as globaltimer, smid as smid, num_threads as num_threads, num_warps as num_warps, convert_custom_float8_sm80 as convert_custom_float8_sm80, convert_custom_float8_sm70 as convert_custom_float8_sm70
