"""What this machine was measured to be able to do: once, and kept in the cache folder until `tilewright bench --measure-roof`."""

import json
import os
import time

from .. import _core
from . import tensors

_QUIET = 0.1  # of the processors' time, for other programs


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


def _seconds_on_gpu(call):
    """The best of a few runs, by the GPU's clock."""
    torch = tensors.torch()
    times = []
    for _ in range(8):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return min(times)


def _measure_gpu(device):
    """PyTorch's copy, and its products, which are cuBLAS's: what comes nearest to the peak of each type."""
    torch = tensors.torch()
    size = 1 << 28
    source, target = (torch.ones(size, dtype=torch.float32, device=device) for _ in range(2))
    roof = {"bytes_per_second": 2 * 4 * size / _seconds_on_gpu(lambda: target.copy_(source))}
    del source, target
    tf32 = torch.backends.cuda.matmul.allow_tf32
    for name, dtype, extent, allow in (("float32", torch.float32, 4096, False), ("tf32", torch.float32, 8192, True),
                                       ("float16", torch.float16, 8192, True), ("bfloat16", torch.bfloat16, 8192, True)):
        torch.backends.cuda.matmul.allow_tf32 = allow
        left, right = (torch.randn(extent, extent, device=device, dtype=dtype) for _ in range(2))
        roof[name] = 2 * extent**3 / _seconds_on_gpu(lambda: left @ right)
    torch.backends.cuda.matmul.allow_tf32 = tf32
    return roof


def _processor_seconds():
    """(by all programs, by this one) so far; None where the system does not say."""
    try:
        with open("/proc/stat") as file:
            user, nice, system = (int(word) for word in file.readline().split()[1:4])
    except (OSError, ValueError):
        return None
    own = os.times()
    return (user + nice + system) / os.sysconf("SC_CLK_TCK"), own.user + own.system


def _measure_cpu():
    """With "disturbed": whether other programs had a part of the processors meanwhile."""
    before, start = _processor_seconds(), time.monotonic()
    roof = _core.measure_roof()
    after, seconds = _processor_seconds(), time.monotonic() - start
    others = (after[0] - before[0]) - (after[1] - before[1]) if before and after else 0
    return {**roof, "disturbed": others > _QUIET * seconds * (os.cpu_count() or 1)}


def _higher(old, new):
    """Of two measurements, what is higher in each respect: whatever else runs only makes one lower."""
    return {name: max(value, old.get(name, value)) if type(value) is float else value for name, value in new.items()}


class Roof:
    """One device's, in the cache folder."""

    def __init__(self, device):
        self.device = device
        self.machine = _machine(device)
        self.key = _core.roof_key(self.machine)

    def kept(self):
        kept = _core.cache_load(self.key) if _core.cache_enabled() else None
        return None if kept is None else json.loads(kept)

    def keep(self, roof):
        roof["device"] = self.machine
        if _core.cache_enabled():
            _core.cache_store(self.key, json.dumps(roof).encode())
        return roof

    def measure(self):
        return self.keep(_measure_cpu() if self.device == "cpu" else _measure_gpu(self.device))


def roof_of(device, anew=False):
    """{"bytes_per_second": ..., "float32": operations a second, ...} of "cpu" or a CUDA device of PyTorch's.

    Measured once and kept, but for a measurement that other programs disturbed: the next one who asks measures again, and what is higher
    counts.
    """
    roof = Roof(device)
    kept = None if anew else roof.kept()
    if kept is None:
        return roof.measure()
    return roof.keep(_higher(kept, roof.measure())) if kept.get("disturbed") else kept


def beaten(own, device, has_product, dtype, work_bytes, operations, seconds):
    """The roof of a device on which a call has just taken so long. One that the call went through was measured too low: it is measured again,
    and is no lower than what was reached. (What fits into caches goes through the roof of memory, and says nothing about it.)"""
    name = peak_name(own, dtype, has_product)
    reached = {}
    if operations / seconds > own[name]:
        reached[name] = operations / seconds
    if work_bytes / seconds > own["bytes_per_second"] and work_bytes > 2 * _cache_bytes(device):
        reached["bytes_per_second"] = work_bytes / seconds
    if not reached:
        return own
    roof = Roof(device)
    return roof.keep(_higher(reached, _higher(own, roof.measure())))


def peak_name(roof, dtype, has_product):
    """Which row says what is possible for elements of a type. A type that has none is computed in float32."""
    if has_product and dtype == "float32" and "tf32" in roof:
        return "tf32"
    return dtype if dtype in roof and (has_product or dtype in ("float32", "float64")) else "float32"


def peak(roof, dtype, has_product):
    """Operations a second."""
    return roof[peak_name(roof, dtype, has_product)]
