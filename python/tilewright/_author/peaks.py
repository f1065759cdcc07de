"""The machine's measured limits of memory and arithmetic, kept in the cache folder until `tilewright bench --measure-peaks` measures again."""

from .. import _core
from . import tensors


def _machine(device):
    """Returns a text that names the machine of a device. It is also the key in the cache folder, which `tilewright explain` reads."""
    if device == "cpu":
        return _core.cpu_text()
    properties = tensors.torch().cuda.get_device_properties(device)
    return f"{properties.name} {properties.multi_processor_count} {properties.total_memory}"


def _cache_bytes(device):
    if device == "cpu":
        return _core.target()["llc_bytes"]
    return tensors.torch().cuda.get_device_properties(device).L2_cache_size


def _measure(device):
    return _core.measure_cpu() if device == "cpu" else _core.measure_gpu(tensors.torch().device(device).index or 0)


def peaks_of(device, remeasure=False):
    """{"bytes_per_second": ..., "float32": operations a second, ...} of "cpu" or a CUDA device of PyTorch's.

    Measured once and kept (src/tune/machine_peaks), unless other programs disturbed the measurement.
    """
    return _core.peaks_of(_machine(device), lambda: _measure(device), remeasure)


def beaten(own, device, work, seconds):
    """Returns the peaks of a device on which `work` has just taken `seconds`. If the call was faster than these peaks allow, they are measured
    again, and raised to the rates of the call."""
    reached = _core.reached_beyond(own, work, seconds, _cache_bytes(device))
    return _core.raise_peaks(_machine(device), _measure(device), {**own, **reached}) if reached else own
