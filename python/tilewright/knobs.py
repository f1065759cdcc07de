"""Settings as attributes, under Triton's names. Most are read from the environment until they are set.

Settings that this compiler does not use (such as paths of another vendor's tools) exist, so that scripts can set them, but have no
effect; docs/api.md lists them.
"""

import contextlib
import copy as _copy
import functools
import importlib
import os
import re
import subprocess
from collections import namedtuple
from dataclasses import dataclass

from . import _core
from ._programs import find_program


class Env:
    """Assigned to a setting, it makes the setting read the environment again: `knobs.cache.dir = knobs.env`."""

    def __reduce__(self):
        return "env"  # there is one of it


env = Env()
propagate_env = True


def setenv(key, value):
    """Sets an environment variable (None removes it), for child processes and for code that reads the environment itself."""
    if not propagate_env:
        return
    if value is None:
        os.environ.pop(key, None)
    else:
        os.environ[key] = value


def toenv(value):
    """(text,) for a value that an environment variable can hold, (None,) for None, and None for any other value."""
    if value is None:
        return (None,)
    if isinstance(value, bool):
        return ("1" if value else "0",)
    return (str(value),) if isinstance(value, (str, int)) else None


class env_base:
    """A setting: the value it was given, or else that of its environment variable, or else its default."""

    def __init__(self, key, default=None):
        self.key = key
        self.default = default

    def __set_name__(self, owner, name):
        self.name = name

    def parse(self, text):
        return text

    def get(self):
        text = os.environ.get(self.key)
        return self.default if text is None else self.parse(text)

    def transform(self, value):
        """The value that reading the setting gives after `value` was set."""
        return value

    def __get__(self, instance, owner):
        if instance is None:
            return self
        return self.transform(instance.__dict__[self.name]) if self.name in instance.__dict__ else self.get()

    def __set__(self, instance, value):
        if isinstance(value, Env):
            instance.__dict__.pop(self.name, None)
            return
        instance.__dict__[self.name] = value
        if text := toenv(value):
            setenv(self.key, text[0])

    def __delete__(self, instance):
        instance.__dict__.pop(self.name, None)


class env_str(env_base):
    pass


class env_opt_str(env_base):
    pass


class env_str_callable_default(env_base):
    """A text setting whose default is a function's result."""

    def get(self):
        text = os.environ.get(self.key)
        return self.default() if text is None else text


class env_bool(env_base):
    """A switch. A text that means neither on nor off leaves it at its default, as in the compiler itself."""

    def __init__(self, key, default=False):
        super().__init__(key, default)

    def parse(self, text):
        switched = _core.switch_of(text)
        return self.default if switched is None else switched


class env_opt_bool(env_bool):
    def __init__(self, key):
        super().__init__(key, None)


class env_int(env_base):
    def __init__(self, key, default=0):
        super().__init__(key, default)

    def parse(self, text):
        try:
            return int(text)
        except ValueError as error:
            raise RuntimeError(f"{self.key} is set to {text!r}, but takes an integer") from error


class env_class(env_base):
    """A class, set by its name "module:Class", with a base class whose name is `type`."""

    def __init__(self, key, type):
        super().__init__(key)
        self.type = type

    def parse(self, text):
        module, found, name = text.partition(":")
        if not found:
            raise RuntimeError(f"{self.key} is set to {text!r}, but names a class, as MODULE:CLASS")
        kind = getattr(importlib.import_module(module), name)
        if not any(base.__name__ == self.type for base in kind.mro()):
            raise RuntimeError(f"{self.key} is set to {text!r}, which is not a subclass of {self.type}")
        return kind


@functools.cache
def _version_of(path):
    """The version that a program of the CUDA toolkit prints, such as "13.0" of "release 13.0, V13.0.88"; "" if there is no such program."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True)
    except OSError:
        return ""
    said = re.findall(r"\brelease ([0-9]+[.][0-9]+)", done.stdout + done.stderr)
    return said[0] if said and done.returncode == 0 else ""


@dataclass
class NvidiaTool:
    """A program of the CUDA toolkit."""

    path: str
    version: str

    @classmethod
    def from_path(cls, path):
        """The program at a path; None if there is none, or if it prints no version."""
        version = _version_of(path)
        return cls(path, version) if version else None


class env_nvidia_tool(env_base):
    """A setting that is set as a path and read as a NvidiaTool: the one at that path, or else the one on PATH."""

    def __init__(self, binary):
        super().__init__("_".join(["TRITON", *binary.upper().split("-"), "PATH"]))
        self.binary = binary

    def get(self):
        return self.transform(os.environ.get(self.key))

    def transform(self, path):
        for place in (path, find_program(self.binary)):
            if place is not None and (tool := NvidiaTool.from_path(place)):
                return tool
        raise RuntimeError(f"Cannot find {self.binary}")


class CompileTimes(namedtuple("CompileTimes", ("ir_initialization", "lowering_stages", "store_results"))):
    """The times of a compilation's parts in microseconds: two numbers, and between them a list of (stage, number)."""

    total_lowering = property(lambda self: sum(stage[1] for stage in self.lowering_stages))
    total = property(lambda self: self.ir_initialization + self.total_lowering + self.store_results)


class HookChain(list):
    """Functions that are called one after the other. It is a list, so that a launch can check at no cost that it is empty."""

    def __init__(self, reversed=False):
        self.reversed = reversed

    @property
    def calls(self):
        return self

    def add(self, call):
        if call not in self:
            self.append(call)

    def remove(self, call):
        if call in self:
            list.remove(self, call)

    def __call__(self, *args, **kwargs):
        for call in self[::-1] if self.reversed else list(self):
            call(*args, **kwargs)


@contextlib.contextmanager
def _restored(mapping, names):
    """Restores the entries of the mapping whose names names() gives, before or afterwards."""
    before = {name: mapping[name] for name in names() if name in mapping}
    try:
        yield
    finally:
        for name in names():
            mapping.pop(name, None)
        mapping.update(before)


class base_knobs:
    """A group of settings."""

    @property
    def knob_descriptors(self):
        return {name: value for kind in type(self).__mro__ for name, value in vars(kind).items() if isinstance(value, env_base)}

    @property
    def knobs(self):
        return {name: getattr(self, name) for name in self.knob_descriptors}

    def copy(self):
        made = type(self)()
        for name, value in vars(self).items():
            vars(made)[name] = _copy.copy(value)
        return made

    def reset(self):
        fresh = vars(type(self)())
        for name in set(vars(self)) - set(fresh):
            del vars(self)[name]
        vars(self).update(fresh)
        return self

    @contextlib.contextmanager
    def scope(self):
        """A context manager: afterwards, all settings of the group and their environment variables have the values that they had before."""
        variables = [knob.key for knob in self.knob_descriptors.values()]
        with _restored(self.__dict__, lambda: list(self.__dict__)), _restored(os.environ, lambda: variables):
            yield


# ---- the groups: one row for each setting, with its environment variable

_KINDS = {"text": env_opt_str, "flag": env_bool, "on": lambda key: env_bool(key, True), "maybe": env_opt_bool}

_ROWS = """
build       cc                          CC                                    text
build       cudacrt_path                TRITON_CUDACRT_PATH                   text
build       cudart_path                 TRITON_CUDART_PATH                    text
compilation override                    TRITON_KERNEL_OVERRIDE                flag
compilation dump_ir                     TRITON_KERNEL_DUMP                    flag
compilation dump_ir_extract_di_local_variables LLVM_EXTRACT_DI_LOCAL_VARIABLES flag
compilation store_binary_only           TRITON_STORE_BINARY_ONLY              flag
compilation always_compile              TRITON_ALWAYS_COMPILE                 flag
compilation use_ir_loc                  USE_IR_LOC                            text
compilation enable_asan                 TRITON_ENABLE_ASAN                    flag
compilation disable_line_info           TRITON_DISABLE_LINE_INFO              flag
compilation front_end_debugging         TRITON_FRONT_END_DEBUGGING            flag
compilation allow_non_constexpr_globals TRITON_ALLOW_NON_CONSTEXPR_GLOBALS    flag
compilation enable_experimental_consan  TRITON_ENABLE_EXPERIMENTAL_CONSAN     flag
compilation fpsan_homomorphic_casts     TRITON_FPSAN_HOMOMORPHIC_CASTS        flag
autotuning  cache                       TRITON_CACHE_AUTOTUNING               flag
autotuning  print                       TRITON_PRINT_AUTOTUNING               flag
runtime     interpret                   TRITON_INTERPRET                      flag
runtime     override_arch               TRITON_OVERRIDE_ARCH                  text
language    fp32_default                TRITON_F32_DEFAULT                    text
language    default_fp_fusion           TRITON_DEFAULT_FP_FUSION              on
language    force_disable_fp_fusion     TRITON_FORCE_DISABLE_FP_FUSION        flag
nvidia      dump_nvptx                  NVPTX_ENABLE_DUMP                     flag
nvidia      disable_ptxas_opt           DISABLE_PTXAS_OPT                     flag
nvidia      ptxas_options               PTXAS_OPTIONS                         text
nvidia      mock_ptx_version            TRITON_MOCK_PTX_VERSION               text
nvidia      dump_ptxas_log              TRITON_DUMP_PTXAS_LOG                 flag
nvidia      libdevice_path              TRITON_LIBDEVICE_PATH                 text
nvidia      libcuda_path                TRITON_LIBCUDA_PATH                   text
amd         use_buffer_ops              AMDGCN_USE_BUFFER_OPS                 on
amd         use_buffer_atomics          AMDGCN_USE_BUFFER_ATOMICS             on
amd         buffer_ops_analyze_small_tensor_range AMDGCN_ANALYZE_SMALL_TENSOR_RANGE flag
amd         dump_amdgcn                 AMDGCN_ENABLE_DUMP                    flag
amd         libhip_path                 TRITON_LIBHIP_PATH                    text
amd         use_block_pingpong          TRITON_HIP_USE_BLOCK_PINGPONG         maybe
amd         use_in_thread_transpose     TRITON_HIP_USE_IN_THREAD_TRANSPOSE    maybe
amd         use_async_copy              TRITON_HIP_USE_ASYNC_COPY             maybe
amd         scalarize_packed_fops       AMDGCN_SCALARIZE_PACKED_FOPS          flag
amd         codegen_path                TRITON_AMD_CODEGEN_PATH               text
amd         use_coexec_scheduler        TRITON_HIP_USE_COEXEC_SCHEDULER       maybe
amd         use_expert_scheduling       TRITON_HIP_USE_EXPERT_SCHEDULING      maybe
amd         dump_mir                    TRITON_DUMP_MIR                       text
amd         swap_mir                    TRITON_SWAP_MIR                       text
amd         swap_mir_enable_misched     TRITON_SWAP_MIR_ENABLE_MISCHED        flag
proton      disable                     TRITON_PROTON_DISABLE                 flag
proton      enable_nvtx                 TRITON_ENABLE_NVTX                    on
proton      enable_hw_trace             TRITON_ENABLE_HW_TRACE                flag
proton      cupti_lib_dir               TRITON_CUPTI_LIB_PATH                 text
proton      cupti_lib_blackwell_dir     TRITON_CUPTI_LIB_BLACKWELL_PATH       text
"""


def _group(name, others=None, **members):
    """The class NAME_knobs, with the rows of that name. `others`: a function that makes the settings without an environment variable."""

    def start(self):
        self.__dict__.update(others() if others else {})

    for group, knob, key, kind in map(str.split, _ROWS.strip().splitlines()):
        if group == name:
            members[knob] = _KINDS[kind](key)
    return type(f"{name}_knobs", (base_knobs,), {"__init__": start, "__module__": __name__, **members})


def _backend_dirs(self):
    return {folder for folder in (self.cudacrt_path, self.cudart_path) if folder is not None}


def _default_cache_folder():
    return os.environ.get("TILEWRIGHT_CACHE_DIR") or cache.get_triton_dir("cache")


def _runtime_start():
    return {
        "debug": _core.switch_of(os.environ.get("TRITON_DEBUG", "")) is True,
        "launch_enter_hook": HookChain(), "launch_exit_hook": HookChain(reversed=True),
        "kernel_load_start_hook": HookChain(), "kernel_load_end_hook": HookChain(reversed=True), "kernel_unload_hook": HookChain(),
        **dict.fromkeys(("jit_cache_hook", "jit_post_compile_hook", "add_stages_inspection_hook")),
    }


build_knobs = _group("build", lambda: {"impl": None}, backend_dirs=property(_backend_dirs))
redis_knobs = _group("redis", key_format=env_str("TRITON_REDIS_KEY_FORMAT", "triton:{key}:{filename}"),
                     host=env_str("TRITON_REDIS_HOST", "localhost"), port=env_int("TRITON_REDIS_PORT", 6379))
cache_knobs = _group(
    "cache", home_dir=env_str("TRITON_HOME", os.path.expanduser("~/")),
    dump_dir=env_str_callable_default("TRITON_DUMP_DIR", lambda: cache.get_triton_dir("dump")),
    override_dir=env_str_callable_default("TRITON_OVERRIDE_DIR", lambda: cache.get_triton_dir("override")),
    dir=env_str_callable_default("TRITON_CACHE_DIR", _default_cache_folder),
    manager_class=env_class("TRITON_CACHE_MANAGER", "CacheManager"),
    remote_manager_class=env_class("TRITON_REMOTE_CACHE_BACKEND", "RemoteCacheBackend"),
    get_triton_dir=lambda self, name: os.path.join(self.home_dir, ".triton", name))
compilation_knobs = _group("compilation", lambda: {"listener": None,
                                                   "instrumentation_mode": os.environ.get("TRITON_INSTRUMENTATION_MODE", "")})
autotuning_knobs = _group("autotuning", lambda: {"listener": None})
runtime_knobs = _group("runtime", _runtime_start)
def _fp_fusion_enabled(self, requested):
    """True if multiplications and additions are fused in a kernel whose launch asks for `requested` (None: the launch does not set it)."""
    return not self.force_disable_fp_fusion and bool(self.default_fp_fusion if requested is None else requested)


language_knobs = _group("language", fp_fusion_enabled=_fp_fusion_enabled)
nvidia_knobs = _group("nvidia", cuobjdump=env_nvidia_tool("cuobjdump"), nvdisasm=env_nvidia_tool("nvdisasm"),
                      ptxas=env_nvidia_tool("ptxas"), ptxas_blackwell=env_nvidia_tool("ptxas-blackwell"))
amd_knobs = _group("amd")
proton_knobs = _group("proton", profile_buffer_size=env_int("TRITON_PROFILE_BUFFER_SIZE", 64 << 20),
                      profile_metric_buffer_size=env_int("TRITON_PROFILE_METRIC_BUFFER_SIZE", 64 << 20))

build, redis, cache, compilation, autotuning = build_knobs(), redis_knobs(), cache_knobs(), compilation_knobs(), autotuning_knobs()
runtime, language, nvidia, amd, proton = runtime_knobs(), language_knobs(), nvidia_knobs(), amd_knobs(), proton_knobs()


def refresh_knobs():
    """Reads again the settings that are read from the environment only once."""
    runtime.debug = _core.switch_of(os.environ.get("TRITON_DEBUG", "")) is True
    compilation.instrumentation_mode = os.environ.get("TRITON_INSTRUMENTATION_MODE", "")
