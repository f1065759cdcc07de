"""The one driver there is: the CPU this process runs on."""

from .. import _core
from .compiler import GPUTarget


class DriverBase:
    @classmethod
    def is_active(cls):
        return True


class _Utils:
    def get_device_properties(self, device=0):
        """The CPU in the words that GPU code uses for its machine; what it has no word for is a neutral value."""
        facts = _core.target()
        return {
            "max_shared_mem": facts["l2_bytes"],
            "max_num_regs": facts["registers"],
            "multiprocessor_count": facts["threads"],
            "sm_count": facts["threads"],
            "warpSize": 1,
            "warp_size": 1,
            "sm_clock_rate": 0,
            "mem_clock_rate": 0,
            "mem_bus_width": 0,
            "l2_bytes": facts["l2_bytes"],
            "llc_bytes": facts["llc_bytes"],
            "vector_bytes": facts["vector_bytes"],
            "name": facts["cpu"],
        }


class _NoDevice:
    """torch.cuda as code that synchronises or counts devices uses it, for a machine that needs neither."""

    def synchronize(self, device=None):
        pass

    def current_device(self):
        return 0

    def device_count(self):
        return 1

    def get_device_capability(self, device=None):
        return (0, 0)


class CPUDriver(DriverBase):
    def __init__(self):
        self.utils = _Utils()

    def get_current_target(self):
        return GPUTarget("cpu", _core.target()["level"], 1)

    def get_active_torch_device(self):
        import torch
        return torch.device("cpu")

    def get_current_device(self):
        return 0

    def set_current_device(self, device):
        pass

    def get_current_stream(self, device=None):
        return 0

    def get_device_interface(self):
        return _NoDevice()

    def get_device_capability(self, device=None):
        return (0, 0)

    def get_benchmarker(self):
        from ..testing import do_bench
        return do_bench

    def get_empty_cache_for_benchmark(self):
        from ..testing import _flush_buffer
        return _flush_buffer()

    def clear_cache(self, cache):
        cache.fill(0)
