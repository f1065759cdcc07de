"""The simulator as the GPU of programs for CUDA: PyTorch's CUDA tensors are on the CPU, and the active target is that of the simulator.

    python -m tilewright tests/conformance/simulated_gpu.py sm_100a 10-block-scaled-matmul.py

runs a tutorial, unchanged: it calls the tutorial's functions that check numbers (CALLS), at sizes for a simulator.
"""

import pathlib
import re
import runpy
import sys
from types import SimpleNamespace

import tilewright
from tilewright.backends.compiler import GPUTarget
from tilewright.backends.driver import CPUDriver
from tilewright.runtime.driver import driver

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "clients"))

# Block scales are in whole blocks of 128 rows and 4 groups. The tiles are 128x256x256, or 128x256x128 of fp8.
BLOCK_SCALED = [(128, 256, 256), (256, 512, 512), (128, 128, 384), (384, 256, 768), (256, 384, 640)]
CALLS = {"10-block-scaled-matmul.py": [("validate_block_scaled", (*size, kind)) for kind in ("nvfp4", "mxfp4", "mxfp8", "mixed") for size in BLOCK_SCALED]}


class SimulatedGPU(CPUDriver):
    def __init__(self, capability):
        super().__init__()
        self.capability = capability

    def get_current_target(self):
        return GPUTarget("cuda", 10 * self.capability[0] + self.capability[1], 32)

    def get_device_capability(self, device=None):
        return self.capability


def multiply_exactly():
    """From now on, matmuls of 16-bit tensors are rounded once. PyTorch's on a CPU may differ more from those of a GPU than tests permit."""
    import torch
    from torch.overrides import TorchFunctionMode

    class Exact(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            if function is torch.matmul and args[0].dtype in (torch.float16, torch.bfloat16) and not kwargs:
                return function(*(each.double() for each in args)).to(args[0].dtype)
            return function(*args, **(kwargs or {}))

    Exact().__enter__()


def begin(target):
    """From now on, kernels run on the simulator of `target` (sm_100a)."""
    import torch
    from cuda_on_cpu import begin as begin_cuda_on_cpu

    multiply_exactly()
    digits = re.fullmatch(r"sm_(\d+)[af]?", target)[1]
    capability = int(digits[:-1]), int(digits[-1])
    begin_cuda_on_cpu(capability)
    torch.cuda.is_available = lambda: True
    torch.cuda.get_device_properties = lambda *_: SimpleNamespace(multi_processor_count=4, name=f"simulated {target}")
    driver.set_active(SimulatedGPU(capability))
    tilewright.engine("simulate", target=f"cuda:{target}").__enter__()


def main(target, path):
    begin(target)
    tutorial, calls = runpy.run_path(path), CALLS[pathlib.Path(path).name]
    for function, arguments in calls:
        tutorial[function](*arguments)
        print(f"{function}{arguments}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
