# Written by tools/stubs.py from the tables of builtins: edit those.
from contextlib import AbstractContextManager
from typing import Any, Callable, Generic, NamedTuple, TypeVar

_V = TypeVar("_V")
_Set = TypeVar("_Set")
_Group = TypeVar("_Group", bound="base_knobs")

class Env: ...

class env_base(Generic[_V, _Set]):
    """A setting: values are read as the first type and set as the second. `Env` makes it read its environment variable again."""
    key: str
    def __get__(self, instance: object, owner: type | None = None) -> _V: ...
    def __set__(self, instance: object, value: _Set | Env) -> None: ...
    def __delete__(self, instance: object) -> None: ...

class NvidiaTool:
    path: str
    version: str
    def __init__(self, path: str, version: str) -> None: ...
    @classmethod
    def from_path(cls, path: str) -> NvidiaTool | None: ...

class CompileTimes(NamedTuple):
    ir_initialization: int
    lowering_stages: list[tuple[str, int]]
    store_results: int
    @property
    def total_lowering(self) -> int: ...
    @property
    def total(self) -> int: ...

class HookChain(list[Callable[..., object]]):
    calls: list[Callable[..., object]]
    def __init__(self, reversed: bool = False) -> None: ...
    def add(self, call: Callable[..., object]) -> None: ...
    def remove(self, call: Callable[..., object]) -> None: ...
    def __call__(self, *args: object, **kwargs: object) -> None: ...

class base_knobs:
    knob_descriptors: dict[str, env_base[Any, Any]]
    knobs: dict[str, object]
    def copy(self: _Group) -> _Group: ...
    def reset(self: _Group) -> _Group: ...
    def scope(self) -> AbstractContextManager[None]: ...

env: Env
propagate_env: bool
def setenv(key: str, value: str | None) -> None: ...
def toenv(value: object) -> tuple[str | None] | None: ...
def refresh_knobs() -> None: ...

class build_knobs(base_knobs):
    @property
    def backend_dirs(self) -> set[str]: ...
    cc: env_base[str | None, str | None]
    cudacrt_path: env_base[str | None, str | None]
    cudart_path: env_base[str | None, str | None]
    impl: Callable[..., object] | None
build: build_knobs

class redis_knobs(base_knobs):
    key_format: env_base[str, str]
    host: env_base[str, str]
    port: env_base[int, int]
redis: redis_knobs

class cache_knobs(base_knobs):
    home_dir: env_base[str, str]
    dump_dir: env_base[str, str]
    override_dir: env_base[str, str]
    dir: env_base[str, str]
    manager_class: env_base[type | None, type | None]
    remote_manager_class: env_base[type | None, type | None]
    def get_triton_dir(self, name: str) -> str: ...
cache: cache_knobs

class compilation_knobs(base_knobs):
    override: env_base[bool, bool]
    dump_ir: env_base[bool, bool]
    dump_ir_extract_di_local_variables: env_base[bool, bool]
    store_binary_only: env_base[bool, bool]
    always_compile: env_base[bool, bool]
    use_ir_loc: env_base[str | None, str | None]
    enable_asan: env_base[bool, bool]
    disable_line_info: env_base[bool, bool]
    front_end_debugging: env_base[bool, bool]
    allow_non_constexpr_globals: env_base[bool, bool]
    enable_experimental_consan: env_base[bool, bool]
    fpsan_homomorphic_casts: env_base[bool, bool]
    listener: Callable[..., object] | None
    instrumentation_mode: str
compilation: compilation_knobs

class autotuning_knobs(base_knobs):
    cache: env_base[bool, bool]
    print: env_base[bool, bool]
    listener: Callable[..., object] | None
autotuning: autotuning_knobs

class runtime_knobs(base_knobs):
    interpret: env_base[bool, bool]
    override_arch: env_base[str | None, str | None]
    debug: bool
    launch_enter_hook: HookChain
    launch_exit_hook: HookChain
    kernel_load_start_hook: HookChain
    kernel_load_end_hook: HookChain
    kernel_unload_hook: HookChain
    jit_cache_hook: Callable[..., object] | None
    jit_post_compile_hook: Callable[..., object] | None
    add_stages_inspection_hook: Callable[..., object] | None
runtime: runtime_knobs

class language_knobs(base_knobs):
    def fp_fusion_enabled(self, requested: bool | None) -> bool: ...
    fp32_default: env_base[str | None, str | None]
    default_fp_fusion: env_base[bool, bool]
    force_disable_fp_fusion: env_base[bool, bool]
language: language_knobs

class nvidia_knobs(base_knobs):
    cuobjdump: env_base[NvidiaTool, str | None]
    nvdisasm: env_base[NvidiaTool, str | None]
    ptxas: env_base[NvidiaTool, str | None]
    ptxas_blackwell: env_base[NvidiaTool, str | None]
    dump_nvptx: env_base[bool, bool]
    disable_ptxas_opt: env_base[bool, bool]
    ptxas_options: env_base[str | None, str | None]
    mock_ptx_version: env_base[str | None, str | None]
    dump_ptxas_log: env_base[bool, bool]
    libdevice_path: env_base[str | None, str | None]
    libcuda_path: env_base[str | None, str | None]
nvidia: nvidia_knobs

class amd_knobs(base_knobs):
    use_buffer_ops: env_base[bool, bool]
    use_buffer_atomics: env_base[bool, bool]
    buffer_ops_analyze_small_tensor_range: env_base[bool, bool]
    dump_amdgcn: env_base[bool, bool]
    libhip_path: env_base[str | None, str | None]
    use_block_pingpong: env_base[bool | None, bool | None]
    use_in_thread_transpose: env_base[bool | None, bool | None]
    use_async_copy: env_base[bool | None, bool | None]
    scalarize_packed_fops: env_base[bool, bool]
    codegen_path: env_base[str | None, str | None]
    use_coexec_scheduler: env_base[bool | None, bool | None]
    use_expert_scheduling: env_base[bool | None, bool | None]
    dump_mir: env_base[str | None, str | None]
    swap_mir: env_base[str | None, str | None]
    swap_mir_enable_misched: env_base[bool, bool]
amd: amd_knobs

class proton_knobs(base_knobs):
    profile_buffer_size: env_base[int, int]
    profile_metric_buffer_size: env_base[int, int]
    disable: env_base[bool, bool]
    enable_nvtx: env_base[bool, bool]
    enable_hw_trace: env_base[bool, bool]
    cupti_lib_dir: env_base[str | None, str | None]
    cupti_lib_blackwell_dir: env_base[str | None, str | None]
proton: proton_knobs
