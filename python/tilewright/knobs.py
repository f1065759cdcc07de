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


class build_knobs(base_knobs):
    cc = env_opt_str("CC")

    def __init__(self):
        self.impl = None


class cache_knobs(base_knobs):
    home_dir = env_str("TRITON_HOME", os.path.expanduser("~/"))
    dump_dir = env_opt_str("TRITON_DUMP_DIR")
    override_dir = env_opt_str("TRITON_OVERRIDE_DIR")
    manager_class = _Env("TRITON_CACHE_MANAGER")

    @property
    def dir(self):
        from . import _core
        return _core.cache_directory()

    @dir.setter
    def dir(self, folder):
        os.environ["TILEWRIGHT_CACHE_DIR"] = str(folder)


class compilation_knobs(base_knobs):
    override = env_bool("TRITON_KERNEL_OVERRIDE")
    dump_ir = env_bool("TRITON_KERNEL_DUMP")
    store_binary_only = env_bool("TRITON_STORE_BINARY_ONLY")
    always_compile = env_bool("TRITON_ALWAYS_COMPILE")
    use_ir_loc = env_opt_str("USE_IR_LOC")
    enable_asan = env_bool("TRITON_ENABLE_ASAN")
    disable_line_info = env_bool("TRITON_DISABLE_LINE_INFO")
    front_end_debugging = env_bool("TRITON_FRONT_END_DEBUGGING")
    allow_non_constexpr_globals = env_bool("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS")
    enable_experimental_consan = env_bool("TRITON_ENABLE_EXPERIMENTAL_CONSAN")

    def __init__(self):
        self.listener = None
        self.instrumentation_mode = ""


class autotuning_knobs(base_knobs):
    cache = env_bool("TRITON_CACHE_AUTOTUNING")
    print = env_bool("TRITON_PRINT_AUTOTUNING")


class runtime_knobs(base_knobs):
    interpret = env_bool("TRITON_INTERPRET")
    override_arch = env_opt_str("TRITON_OVERRIDE_ARCH")

    def __init__(self):
        self.debug = _truth(os.environ.get("TRITON_DEBUG", ""))
        self.launch_enter_hook = HookChain()
        self.launch_exit_hook = HookChain(reversed=True)
        self.kernel_load_start_hook = HookChain()
        self.kernel_load_end_hook = HookChain(reversed=True)
        self.jit_cache_hook = None
        self.jit_post_compile_hook = None
        self.add_stages_inspection_hook = None

    def watched(self):
        """Whether launches must look at more than their arguments."""
        state = self.__dict__
        return (state["debug"] or state["launch_enter_hook"] or state["launch_exit_hook"] or state["jit_cache_hook"] is not None
                or state["jit_post_compile_hook"] is not None)


class language_knobs(base_knobs):
    fp32_default = env_opt_str("TRITON_F32_DEFAULT")
    default_fp_fusion = env_bool("TRITON_DEFAULT_FP_FUSION", True)


class nvidia_knobs(base_knobs):
    cuobjdump = env_opt_str("TRITON_CUOBJDUMP_PATH")
    nvdisasm = env_opt_str("TRITON_NVDISASM_PATH")
    ptxas = env_opt_str("TRITON_PTXAS_PATH")
    dump_nvptx = env_bool("NVPTX_ENABLE_DUMP")
    disable_ptxas_opt = env_bool("DISABLE_PTXAS_OPT")
    ptxas_options = env_opt_str("PTXAS_OPTIONS")
    mock_ptx_version = env_opt_str("TRITON_MOCK_PTX_VERSION")
    libdevice_path = env_opt_str("TRITON_LIBDEVICE_PATH")
    libcuda_path = env_opt_str("TRITON_LIBCUDA_PATH")


class amd_knobs(base_knobs):
    use_buffer_ops = env_bool("AMDGCN_USE_BUFFER_OPS", True)
    use_block_pingpong = env_opt_bool("TRITON_HIP_USE_BLOCK_PINGPONG")
    use_async_copy = env_bool("TRITON_HIP_USE_ASYNC_COPY")


class proton_knobs(base_knobs):
    disable = env_bool("TRITON_PROTON_DISABLE", False)


build = build_knobs()
cache = cache_knobs()
compilation = compilation_knobs()
autotuning = autotuning_knobs()
runtime = runtime_knobs()
language = language_knobs()
nvidia = nvidia_knobs()
amd = amd_knobs()
proton = proton_knobs()


def refresh_knobs():
    runtime.debug = _truth(os.environ.get("TRITON_DEBUG", ""))
