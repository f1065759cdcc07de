# Versions of packages come from their metadata in the folders of PYTHONPATH and of the virtual environment. Names are compared as pip does.
# RUN: split-file %s %t
# RUN: env -u VIRTUAL_ENV PYTHONPATH=%t/site tilewright compile %t/kernel.py --kernel k --signature '*i32' | FileCheck %s --check-prefix=OLD
# RUN: env -u PYTHONPATH VIRTUAL_ENV=%t/environment tilewright compile %t/kernel.py --kernel k --signature '*i32' | FileCheck %s --check-prefix=NEW
# RUN: env -u VIRTUAL_ENV -u PYTHONPATH tilewright compile %t/kernel.py --kernel k --signature '*i32' | FileCheck %s --check-prefix=NONE
#--- site/torch-2.3.1+cpu.dist-info/METADATA
Metadata-Version: 2.1
Name: torch
Version: 2.3.1+cpu

Version: 9 is in the description
#--- site/torch/version.py
from typing import Optional
__version__ = '2.3.1+cpu'
cuda: Optional[str] = None
#--- site/Some.Package-1.0.dist-info/METADATA
Name: Some.Package
Version: 1.0
#--- environment/lib/python3.12/site-packages/torch-2.11.0.dist-info/METADATA
Name: torch
Version: 2.11.0
#--- environment/lib/python3.12/site-packages/torch/version.py
cuda: Optional[str] = '13.0'
#--- kernel.py
from importlib.metadata import version as installed

import torch
import triton
import triton.language as tl
from packaging.version import parse

ROWS = 16 if parse(torch.__version__) >= parse("2.4") else 8
SAME = installed("torch") == torch.__version__
CUDA = 0 if torch.version.cuda is None else int(torch.version.cuda.split(".")[0])
try:
    OTHER = 1 if installed("some_package") == "1.0" else 0
except NameError:
    OTHER = 0


# OLD-DAG: arith.constant dense<80> : tensor<8xi32>
# NEW-DAG: arith.constant dense<173> : tensor<16xi32>
# NONE-DAG: arith.constant dense<10159> : tensor<16xi32>
@triton.jit
def k(out):
    tl.static_assert(SAME)
    tl.store(out + tl.arange(0, ROWS), tl.full([ROWS], 10 * ROWS + CUDA, tl.int32))
