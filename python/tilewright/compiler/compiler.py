"""What compilation gives: the object that launches return, and compilation without a launch."""

from collections import namedtuple
from pathlib import Path

from .. import _core
from ..backends.compiler import GPUTarget
from ..runtime.driver import driver

Metadata = namedtuple("KernelMetadata", [
    "name", "hash", "target", "num_warps", "num_stages", "num_ctas", "maxnreg", "debug", "enable_fp_fusion", "backend_name", "shared",
    "arena_bytes", "warp_size", "cluster_dims", "tmem_size", "global_scratch_size", "profile_scratch_size", "extern_libs"])


class AsmDict(dict):
    """The kernel at its stages, each made when it is asked for."""

    def __init__(self, handle):
        super().__init__()
        self._handle = handle

    def __missing__(self, stage):
        self[stage] = value = self._handle.stage(stage)
        return value

    def __contains__(self, stage):
        return stage in self._handle.stages

    def get(self, stage, default=None):
        try:
            return self[stage]
        except KeyError:
            return default

    def keys(self):
        return self._handle.stages

    def __iter__(self):
        return iter(self._handle.stages)

    def items(self):
        return [(stage, self[stage]) for stage in self._handle.stages]


class CompiledKernel:
    """One specialisation of a kernel. `asm` has it at its stages: for a CPU as ttir, loops, llir and asm text and as obj bytes, for a
    GPU as ttir and ptx text, and as cubin bytes where an assembler was found."""

    n_max_threads = 1024

    def __init__(self, handle, kernel=None):
        self._handle = handle
        self._kernel = kernel  # whose module the later stages of `asm` may need
        self._metadata = None
        self._hash = None
        self.asm = AsmDict(handle)
        self.name = kernel._name_of(handle.signature) if getattr(kernel, "_repr", None) else handle.name
        self.module = None
        self.function = None

    @property
    def hash(self):
        if self._hash is None:
            self._hash = self._handle.key
        return self._hash

    @property
    def signature(self):
        return self._handle.signature

    @property
    def n_regs(self):
        """Registers of one GPU thread."""
        gpu = self._handle.gpu
        return gpu["n_regs"] if gpu else 0

    @property
    def n_spills(self):
        gpu = self._handle.gpu
        return gpu["n_spills"] if gpu else 0

    @property
    def from_cache(self):
        """Whether the code came from the cache folder."""
        return self._handle.from_cache

    @property
    def compile_seconds(self):
        return self._handle.compile_seconds

    @property
    def assemble_seconds(self):
        """The part of compile_seconds that ptxas and the driver took."""
        return self._handle.assemble_seconds

    @property
    def metadata(self):
        if self._metadata is None:
            gpu = self._handle.gpu
            target = GPUTarget("cuda", gpu["capability"], 32) if gpu else GPUTarget("cpu", _core.target()["level"], 1)
            self._metadata = Metadata(name=self.name, hash=self.hash, target=target, shared=gpu["shared"] if gpu else 0,
                                      arena_bytes=self._handle.arena_bytes, warp_size=target.warp_size,
                                      cluster_dims=(gpu["num_ctas"] if gpu else 1, 1, 1), tmem_size=None, global_scratch_size=0,
                                      profile_scratch_size=0, extern_libs=(), **self._handle.options)
        return self._metadata

    def result(self):
        return self

    def __getitem__(self, grid):
        def runner(*args, stream=None):
            self._handle.launch(grid, stream, *args)

        return runner

    def __repr__(self):
        return f"CompiledKernel({self.name}: {self.signature})"


class ASTSource:
    """A kernel with a description of its arguments in place of the arguments themselves.

    signature: {parameter: "*fp32" | "i32" | "constexpr" | ...}. constexprs: {parameter, index or (index,): value}.
    attrs: {(index,): [["tt.divisibility", 16]]}.
    """

    def __init__(self, fn, signature, constexprs=None, attrs=None):
        self.fn = fn
        self.name = fn.__name__
        self.ext = "ttir"
        if not isinstance(signature, dict):
            raise TypeError("signature is a dict of parameter names and types")
        self.signature = signature
        self.constants = {self._index(key): value for key, value in (constexprs or {}).items()}
        self.attrs = {self._index(key): value for key, value in (attrs or {}).items()}

    def _index(self, key):
        if isinstance(key, str):
            return self.fn.arg_names.index(key)
        if isinstance(key, tuple):
            if len(key) != 1:
                raise NotImplementedError("ASTSource: constants and attributes inside tuples are not supported")
            return key[0]
        return key

    def describe(self):
        """Types (None: a constant) in parameter order, constants by index, and indices of multiples of 16."""
        types, constants = [], dict(self.constants)
        for index, param in enumerate(self.fn.params):
            word = self.signature.get(param.name, self.signature.get(index))
            if index in constants:
                types.append(None)
            elif word is None or word == "constexpr":
                if word is None and not param.has_default:
                    raise ValueError(f"the signature has no type for the parameter '{param.name}'")
                constants[index] = param.default if param.has_default else None
                types.append(None)
            else:
                types.append(word)
        aligned = [index for index, facts in self.attrs.items()
                   if any(name == "tt.divisibility" and value % 16 == 0 for name, value in facts)]
        return types, constants, aligned


class IRSource:
    """IR text in a file: .ttir."""

    def __init__(self, path):
        self.path = Path(path)
        self.ext = self.path.suffix[1:]
        if self.ext not in ("ttir", "mlir"):
            raise ValueError(f"compile: cannot read '.{self.ext}' files; kernels come as .ttir text")
        self.src = self.path.read_text()


def compile(src, target=None, options=None, _env_vars=None):
    """Compiles an ASTSource, or the path of a .ttir file, for `target` (none: the active driver's)."""
    if target is None:
        target = driver.active.get_current_target()
    if target.backend not in ("cpu", "cuda"):
        raise ValueError(f"compile: there is no back end for '{target.backend}'; kernels are compiled for 'cpu' and 'cuda'")
    name = str(target.arch) if target.backend == "cuda" else ""
    if isinstance(src, ASTSource):
        return CompiledKernel(_core.compile_described(src.fn, *src.describe(), dict(options or {}), name), src.fn)
    source = src if isinstance(src, IRSource) else IRSource(src)
    return CompiledKernel(_core.compile_text(source.src, str(source.path), dict(options or {}), name))


class _Backend:
    def __init__(self, target):
        self.target = target
        self.binary_ext = "cubin" if target.backend == "cuda" else "obj"

    def hash(self):
        return f"{_core.build_id()}-{self.target}"


def make_backend(target):
    if target.backend not in ("cpu", "cuda"):
        raise RuntimeError(f"0 compatible backends for target ({target.backend}): there are 'cpu' and 'cuda'")
    return _Backend(target)
