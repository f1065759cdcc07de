"""What this machine was measured to be able to do: once, and kept in the cache folder until `tilewright bench --measure-roof`."""

from .. import _core
from . import tensors


def _machine(device):
    """Its name for a person and in the cache folder, where `tilewright explain` looks for it as well."""
    if device == "cpu":
        return _core.processor_text()
    facts = tensors.torch().cuda.get_device_properties(device)
    return f"{facts.name} {facts.multi_processor_count} {facts.total_memory}"


def _cache_bytes(device):
    if device == "cpu":
        return _core.target()["llc_bytes"]
    return tensors.torch().cuda.get_device_properties(device).L2_cache_size


def _measure(device):
    return _core.measure_processor() if device == "cpu" else _core.measure_card(tensors.torch().device(device).index or 0)


def roof_of(device, anew=False):
    """{"bytes_per_second": ..., "float32": operations a second, ...} of "cpu" or a CUDA device of PyTorch's.

    Measured once and kept (src/tune/machine_roof), but for a measurement that other programs disturbed.
    """
    return _core.roof_of(_machine(device), lambda: _measure(device), anew)


def beaten(own, device, work, seconds):
    """The roof of a device on which a call has just taken so long. One that the call went through was measured too low: it is measured again,
    and is no lower than what was reached."""
    reached = _core.reached_beyond(own, work, seconds, _cache_bytes(device))
    return _core.raise_roof(_machine(device), _measure(device), {**own, **reached}) if reached else own
