"""The targets and the options of a compilation, by Triton's names."""

import hashlib
from dataclasses import dataclass, fields
from enum import Enum
from typing import Optional, Tuple, Union

from .._errors import OptionError
from .._records import record


GPUTarget = record(
    __name__, "GPUTarget", """A machine: "cpu", whose `arch` is the vector level ("avx2") and whose `warp_size` is 1, or "cuda" with a capability (90) and 32.""",
    [("backend", str), ("arch", Union[int, str]), ("warp_size", int)], frozen=True)

Language = Enum("Language", ["TRITON", "GLUON"], start=0, module=__name__)  # the language of a source


@dataclass(frozen=True)
class Options:
    """The options of a kernel. Options that this compiler does not use keep the value that they were given."""

    num_warps: int = 4
    num_ctas: int = 1
    num_stages: int = 3
    warp_size: int = 32
    maxnreg: Optional[int] = None
    debug: bool = False
    enable_fp_fusion: Optional[bool] = None  # None: chosen by `numerics` and the knobs
    enable_reflect_ftz: Optional[bool] = None
    numerics: Optional[str] = None
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    sanitize_overflow: bool = True
    supported_fp8_dtypes: Tuple[str, ...] = ("fp8e5", "fp8e4nv", "fp8e4b15", "fp8e5b16", "fp8e4b8")
    deprecated_fp8_dot_operand_dtypes: Tuple[str, ...] = ()
    default_dot_input_precision: str = "tf32"
    allowed_dot_input_precisions: Tuple[str, ...] = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
    max_num_imprecise_acc_default: int = 0
    extern_libs: Optional[tuple] = None
    ptx_version: Optional[int] = None
    ptx_options: Optional[str] = None
    ir_override: Optional[str] = None
    arch: Optional[str] = None
    backend_name: str = "cpu"
    instrumentation_mode: str = ""
    sched4reg: bool = False
    clc: bool = False
    fpsan_homomorphic_casts: bool = False
    min_shared_mem: Optional[int] = None

    def __post_init__(self):
        libraries = self.extern_libs.items() if isinstance(self.extern_libs, dict) else self.extern_libs
        object.__setattr__(self, "extern_libs", None if libraries is None else tuple(map(tuple, libraries)))

    def hash(self):
        return hashlib.sha256(repr(self).encode()).hexdigest()


@dataclass(frozen=True)
class CUDAOptions(Options):
    """The options of a kernel for an NVIDIA GPU."""

    backend_name: str = "cuda"

    def __post_init__(self):
        super().__post_init__()
        if self.num_warps <= 0 or self.num_warps & (self.num_warps - 1):
            raise OptionError(f"num_warps must be a power of 2, not {self.num_warps}")


class BaseBackend:
    """The compiler for one kind of machine."""

    name = ""
    binary_ext = ""
    options_class = Options

    def __init__(self, target):
        if not self.supports_target(target):
            raise ValueError(f"this back end compiles for '{self.name}', not for '{target.backend}'")
        self.target = target

    @classmethod
    def supports_target(cls, target):
        return target.backend == cls.name

    def hash(self):
        from .. import _core
        return f"{_core.build_id()}-{self.target}"

    def parse_options(self, options):
        """The options with defaults for this machine. Other keywords are ignored."""
        known = {field.name for field in fields(Options)}
        given = {name: value for name, value in options.items() if name in known and value is not None}
        defaults = {"backend_name": self.name, "warp_size": self.target.warp_size, "arch": self._arch()}
        return self.options_class(**{**defaults, **given})

    def _arch(self):
        return str(self.target.arch)

    @staticmethod
    def parse_attr(text):
        """Returns the attributes for the letters of a specialization: "D" means a multiple of 16."""
        return [["tt.divisibility", 16]] if "D" in text else []

    @staticmethod
    def get_int_specialization(value, align=False, **_):
        return "D" if align and value % 16 == 0 else ""

    @staticmethod
    def get_tensor_specialization(value, align=False, **_):
        return "D" if align and value.data_ptr() % 16 == 0 else ""

    def get_codegen_implementation(self, options=None):
        """An empty dict: the front end calls no Python functions for a machine's features."""
        return {}

    def load_dialects(self, context):
        """Does nothing: the compiler has loaded the dialects."""

    def get_module_map(self):
        from ..language.extra import libdevice
        return {"triton.language.extra.libdevice": libdevice}

    def pack_metadata(self, metadata):
        """The part of a kernel's metadata that a launcher of GPU code needs."""
        return (metadata.num_warps, metadata.num_ctas, metadata.shared)


class CPUBackend(BaseBackend):
    name = "cpu"
    binary_ext = "obj"


class CUDABackend(BaseBackend):
    name = "cuda"
    binary_ext = "cubin"
    options_class = CUDAOptions

    def _arch(self):
        from .. import knobs
        return knobs.runtime.override_arch or f"sm{self.target.arch}"


__all__ = ["BaseBackend", "CPUBackend", "CUDABackend", "CUDAOptions", "GPUTarget", "Language", "Options"]
