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


def _measure(device):
    return _core.measure_processor() if device == "cpu" else _measure_gpu(device)


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
