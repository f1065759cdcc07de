"""Settings as attributes, in the places where Triton has them. Most are read from the environment until they are set.

What a CPU back end has no use for (paths of GPU tools and the like) exists, so that scripts that set it go on working,
and has no effect.
"""

import contextlib
import copy as _copy
import os

propagate_env = True
_MISSING = object()


class _Env:
    """One setting: the value it was given, or else what the environment says, or else its default."""

    def __init__(self, key, default=None, parse=str):
        self.key = key
        self.default = default
        self.parse = parse

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner):
        if instance is None:
            return self
        if self.name in instance.__dict__:
            return instance.__dict__[self.name]
        text = os.environ.get(self.key)
        return self.default if text is None else self.parse(text)

    def __set__(self, instance, value):
        instance.__dict__[self.name] = value
        if propagate_env and isinstance(value, (str, bool, int)):
            os.environ[self.key] = ("1" if value else "0") if isinstance(value, bool) else str(value)
        elif propagate_env and value is None:
            os.environ.pop(self.key, None)

    def __delete__(self, instance):
        instance.__dict__.pop(self.name, None)


def _truth(text):
    return text.strip().lower() in ("1", "true", "yes", "on", "y")


def env_str(key, default=""):
    return _Env(key, default)


def env_opt_str(key):
    return _Env(key)


def env_bool(key, default=False):
    return _Env(key, default, _truth)


def env_opt_bool(key):
    return _Env(key, None, _truth)


def env_int(key, default=0):
    return _Env(key, default, int)


class HookChain(list):
    """Functions that are called one after the other. A list, so that a launch can see at no cost that there are none."""

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


class base_knobs:
    @property
    def knob_descriptors(self):
        return {name: value for kind in type(self).__mro__ for name, value in vars(kind).items() if isinstance(value, _Env)}

    @property
    def knobs(self):
        return {name: getattr(self, name) for name in self.knob_descriptors}

    def copy(self):
        made = type(self)()
        made.__dict__.update({name: _copy.copy(value) for name, value in self.__dict__.items()})
        return made

    def reset(self):
        self.__dict__.clear()
        self.__dict__.update(type(self)().__dict__)
        return self

    @contextlib.contextmanager
    def scope(self):
        values = dict(self.__dict__)
        env = {knob.key: os.environ.get(knob.key) for knob in self.knob_descriptors.values()}
        try:
            yield
        finally:
            self.__dict__.clear()
            self.__dict__.update(values)
            for key, text in env.items():
                if text is None:
                    os.environ.pop(key, None)
                else:
                    os.environ[key] = text


# ---- the groups: one row a setting, with the environment variable it is read from

_KINDS = {"text": env_opt_str, "flag": env_bool, "on": lambda key: env_bool(key, True), "maybe": env_opt_bool}

_ROWS = """
build       cc                          CC                                    text
cache       dump_dir                    TRITON_DUMP_DIR                       text
cache       override_dir                TRITON_OVERRIDE_DIR                   text
cache       manager_class               TRITON_CACHE_MANAGER                  text
compilation override                    TRITON_KERNEL_OVERRIDE                flag
compilation dump_ir                     TRITON_KERNEL_DUMP                    flag
compilation store_binary_only           TRITON_STORE_BINARY_ONLY              flag
compilation always_compile              TRITON_ALWAYS_COMPILE                 flag
compilation use_ir_loc                  USE_IR_LOC                            text
compilation enable_asan                 TRITON_ENABLE_ASAN                    flag
compilation disable_line_info           TRITON_DISABLE_LINE_INFO              flag
compilation front_end_debugging         TRITON_FRONT_END_DEBUGGING            flag
compilation allow_non_constexpr_globals TRITON_ALLOW_NON_CONSTEXPR_GLOBALS    flag
compilation enable_experimental_consan  TRITON_ENABLE_EXPERIMENTAL_CONSAN     flag
autotuning  cache                       TRITON_CACHE_AUTOTUNING               flag
autotuning  print                       TRITON_PRINT_AUTOTUNING               flag
runtime     interpret                   TRITON_INTERPRET                      flag
runtime     override_arch               TRITON_OVERRIDE_ARCH                  text
language    fp32_default                TRITON_F32_DEFAULT                    text
language    default_fp_fusion           TRITON_DEFAULT_FP_FUSION              on
nvidia      cuobjdump                   TRITON_CUOBJDUMP_PATH                 text
nvidia      nvdisasm                    TRITON_NVDISASM_PATH                  text
nvidia      ptxas                       TRITON_PTXAS_PATH                     text
nvidia      dump_nvptx                  NVPTX_ENABLE_DUMP                     flag
nvidia      disable_ptxas_opt           DISABLE_PTXAS_OPT                     flag
nvidia      ptxas_options               PTXAS_OPTIONS                         text
nvidia      mock_ptx_version            TRITON_MOCK_PTX_VERSION               text
nvidia      libdevice_path              TRITON_LIBDEVICE_PATH                 text
nvidia      libcuda_path                TRITON_LIBCUDA_PATH                   text
amd         use_buffer_ops              AMDGCN_USE_BUFFER_OPS                 on
amd         use_block_pingpong          TRITON_HIP_USE_BLOCK_PINGPONG         maybe
amd         use_async_copy              TRITON_HIP_USE_ASYNC_COPY             flag
proton      disable                     TRITON_PROTON_DISABLE                 flag
"""


def _group(name, others=None, **members):
    """The class NAME_knobs with the rows of that name. `others`: makes the settings that no environment variable has."""

    def start(self):
        self.__dict__.update(others() if others else {})

    for group, knob, key, kind in map(str.split, _ROWS.strip().splitlines()):
        if group == name:
            members[knob] = _KINDS[kind](key)
    return type(f"{name}_knobs", (base_knobs,), {"__init__": start, "__module__": __name__, **members})


class _CacheFolder(_Env):
    """What the library uses, which reads the environment itself."""

    def __get__(self, instance, owner):
        if instance is None:
            return self
        from . import _core
        return _core.cache_directory()

    def __set__(self, instance, folder):
        os.environ[self.key] = str(folder)


def _runtime_start():
    return {
        "debug": _truth(os.environ.get("TRITON_DEBUG", "")),
        **{f"{moment}_{side}_hook": HookChain(reversed=side in ("exit", "end"))
           for moment, sides in (("launch", ("enter", "exit")), ("kernel_load", ("start", "end"))) for side in sides},
        **dict.fromkeys(("jit_cache_hook", "jit_post_compile_hook", "add_stages_inspection_hook")),
    }


def _watched(self):
    """Whether launches must look at more than their arguments."""
    state = self.__dict__
    return (state["debug"] or state["launch_enter_hook"] or state["launch_exit_hook"] or state["jit_cache_hook"] is not None
            or state["jit_post_compile_hook"] is not None)


build_knobs = _group("build", lambda: {"impl": None})
cache_knobs = _group("cache", home_dir=env_str("TRITON_HOME", os.path.expanduser("~/")), dir=_CacheFolder("TILEWRIGHT_CACHE_DIR"))
compilation_knobs = _group("compilation", lambda: {"listener": None, "instrumentation_mode": ""})
autotuning_knobs = _group("autotuning", lambda: {"listener": None})
runtime_knobs = _group("runtime", _runtime_start, watched=_watched)
language_knobs = _group("language")
nvidia_knobs = _group("nvidia")
amd_knobs = _group("amd")
proton_knobs = _group("proton")

build, cache, compilation, autotuning = build_knobs(), cache_knobs(), compilation_knobs(), autotuning_knobs()
runtime, language, nvidia, amd, proton = runtime_knobs(), language_knobs(), nvidia_knobs(), amd_knobs(), proton_knobs()


def refresh_knobs():
    runtime.debug = _truth(os.environ.get("TRITON_DEBUG", ""))
