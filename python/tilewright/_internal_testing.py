"""Helpers that tests written for Triton import from it: which machine this is, and arrays for kernels."""

import contextlib
import multiprocessing
import os
import queue
import sys
import tempfile
from dataclasses import dataclass
from typing import Optional

import numpy as np

from . import knobs, language as tl
from .runtime.driver import driver
from .runtime.jit import TensorWrapper, reinterpret, type_canonicalisation_dict

int_dtypes = ["int8", "int16", "int32", "int64"]
uint_dtypes = ["uint8", "uint16", "uint32", "uint64"]
integral_dtypes = int_dtypes + uint_dtypes
float_dtypes = ["float16", "float32", "float64"]
float_dtypes_with_bfloat16 = float_dtypes + ["bfloat16"]
dtypes = integral_dtypes + float_dtypes
dtypes_with_bfloat16 = dtypes + ["bfloat16"]
torch_float8_dtypes = ["float8_e4m3fn", "float8_e5m2"]
torch_dtypes = ["bool"] + int_dtypes + ["uint8"] + float_dtypes + ["bfloat16"]
tma_dtypes = sorted(set(dtypes_with_bfloat16) - {"int64", "uint64", "float64"})


def is_interpreter():
    return knobs.runtime.interpret


def get_current_target():
    return None if is_interpreter() else driver.active.get_current_target()


def _is_not():
    return False


def is_cuda():
    target = get_current_target()
    return target is not None and target.backend == "cuda"


def _capability():
    """(major, minor) of the active GPU; (0, 0) without one."""
    return tuple(driver.active.get_device_capability()) if is_cuda() else (0, 0)


def is_ampere_or_newer():
    return _capability() >= (8, 0)


def is_hopper_or_newer():
    return _capability() >= (9, 0)


def is_hopper():
    return _capability()[0] == 9


def is_blackwell():
    return _capability()[0] in (10, 11)


def is_blackwell_ultra():
    return _capability() == (10, 3)


def is_sm12x():
    return _capability()[0] == 12


# Tests query other vendors' machines: the result is False.
for _name in ("hip", "hip_cdna", "hip_cdna2",
              "hip_cdna3", "hip_cdna3_or_newer", "hip_cdna4", "hip_rdna", "hip_rdna3", "hip_rdna4", "hip_gfx11", "hip_gfx12", "hip_gfx1250", "xpu"):
    globals()[f"is_{_name}"] = _is_not
del _name


def is_cpu():
    return not is_interpreter() and not is_cuda()


def get_hip_lds_size():
    return 0


def get_arch():
    target = get_current_target()
    return "" if target is None else str(target.arch)


def numpy_random(shape, dtype_str, rs=None, low=None, high=None):
    """A NumPy array of random values: integers over the type's range but its lowest value, or normal floats; bfloat16 as float32 that fits it."""
    shape = (shape,) if isinstance(shape, int) else shape
    rs = np.random.RandomState(seed=17) if rs is None else rs
    if dtype_str in integral_dtypes:
        info = np.iinfo(getattr(np, dtype_str))
        low = info.min if low is None else max(low, info.min)
        high = info.max if high is None else min(high, info.max)
        values = rs.randint(low, high, shape, dtype=getattr(np, dtype_str))
        values[values == 0] = 1  # so that divisions are defined
        return values
    if "float8" in dtype_str:
        return rs.randint(20, 40, shape, dtype=np.int8)
    if dtype_str == "bfloat16":
        values = rs.normal(0, 1, shape).astype("float32")
        return (values.view("uint32") & np.uint32(0xFFFF0000)).view("float32")
    if dtype_str in ("bool", "int1", "bool_"):
        return rs.normal(0, 1, shape) > 0.0
    return rs.normal(0, 1, shape).astype(dtype_str)


def to_triton(x, device, dst_type=None):
    """A NumPy array as a PyTorch tensor of `device`; types that PyTorch hardly supports are wrapped."""
    import torch
    name = x.dtype.name
    if name in uint_dtypes:
        signed = name.lstrip("u")
        return reinterpret(torch.tensor(x.astype(getattr(np, signed)), device=device), getattr(tl, name))
    if dst_type and "float8" in dst_type:
        return reinterpret(torch.tensor(x, device=device), getattr(tl, dst_type))
    tensor = torch.tensor(x, device=device)
    return tensor.bfloat16() if name == "float32" and dst_type == "bfloat16" else tensor


def str_to_triton_dtype(name):
    return tl.str_to_ty(type_canonicalisation_dict[name], None)


def torch_dtype_name(dtype):
    return dtype.name if isinstance(dtype, tl.dtype) else str(dtype).rpartition(".")[2]


def to_numpy(x):
    held = unwrap_tensor(x).cpu()
    array = (held.float() if str(held.dtype) == "torch.bfloat16" else held).numpy()
    return array if held.dtype == x.dtype else array.astype(torch_dtype_name(x.dtype))


def unwrap_tensor(tensor):
    return tensor.base if isinstance(tensor, TensorWrapper) else tensor


def supports_tma(byval_only=False):
    return True


def supports_ws():
    return is_hopper_or_newer()


def tma_skip_msg(byval_only=False):
    return "tensor descriptors are not supported here"


def requires_tma(test):
    return test


def default_alloc_fn(size, align, _):
    import torch
    return torch.empty(size, dtype=torch.int8, device=driver.active.get_active_torch_device())


@dataclass
class ProcessResult:
    """The result of a function that ran in a separate process, and the standard error of that process."""

    exc: Optional[BaseException]
    driver_stderr_output: str


@contextlib.contextmanager
def _stderr_into(path):
    """Redirects file descriptor 2 to a file."""
    kept = os.dup(2)
    try:
        with open(path, "wb") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)


def _in_process(function, answers, args, kwargs, env, stderr_file):
    os.environ.update(env or {})
    problem = None
    with _stderr_into(stderr_file):
        try:
            function(*args, **kwargs)
            driver.active.get_device_interface().synchronize()
        except Exception as error:
            problem = error
    answers.put(problem)


def run_in_process(client_fn, args=(), kwargs=None, env=None):
    """Calls a function in a new process, which the function may crash."""
    context = multiprocessing.get_context("forkserver")
    answers = context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        stderr_file = os.path.join(folder, "stderr")
        process = context.Process(target=_in_process, args=(client_fn, answers, args, kwargs or {}, env, stderr_file))
        process.start()
        process.join()
        with open(stderr_file) as file:
            told = file.read()
    try:
        return ProcessResult(answers.get(timeout=1), told)
    except queue.Empty:
        print(told, file=sys.stderr)
        raise RuntimeError(f"the other process gave no result; its exit status is {process.exitcode}") from None


def _fresh_knobs_impl(skipped_attr=None):
    """(begin, end): `begin()` gives knobs as if no environment variable were set, `end()` restores everything."""
    from . import knobs
    groups = {name: group for name, group in vars(knobs).items()
              if isinstance(group, knobs.base_knobs) and name not in (skipped_attr or ())}
    before = {knob.key: os.environ.get(knob.key) for group in groups.values() for knob in group.knob_descriptors.values()}
    propagated = knobs.propagate_env

    def begin():
        for key in before:
            os.environ.pop(key, None)
        for name, group in groups.items():
            setattr(knobs, name, group.copy().reset())
        knobs.propagate_env = True
        return knobs

    def end():
        for name, group in groups.items():
            setattr(knobs, name, group)
        for key, text in before.items():
            if text is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = text
        knobs.propagate_env = propagated

    return begin, end
