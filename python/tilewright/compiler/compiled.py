"""The result of a compilation, which launches return, too: one specialization of a kernel, with the fields that host code reads."""

from collections import namedtuple
from dataclasses import asdict, fields

from .. import _core, knobs
from .._errors import OutOfResources
from ..backends import make_backend
from ..backends.compiler import GPUTarget, Options
from ..runtime.driver import driver
from ..runtime.events import LazyDict
from ..runtime.specialization import SpecializationProxy
from .sources import ASTSource
from .ttgir import as_ttgir

# The attributes that host code reads from a compiled kernel, besides the options that it was compiled with.
_FIELDS = ("name", "hash", "target", "shared", "arena_bytes", "cluster_dims", "tmem_size", "global_scratch_size", "global_scratch_align",
           "profile_scratch_size", "profile_scratch_align", "triton_version")
KernelMetadata = namedtuple("KernelMetadata", _FIELDS + tuple(field.name for field in fields(Options)))


class AsmDict(dict):
    """The kernel's text or bytes at each stage; a stage is generated when it is first read."""

    def __init__(self, handle):
        super().__init__()
        self._handle = handle

    def __missing__(self, stage):
        value = self._sass() if stage == "sass" else self._handle.stage(stage)
        if stage == "ttgir":
            value = as_ttgir(value)
        self[stage] = value
        return value

    def _sass(self):
        from ..tools.disasm import get_sass
        return get_sass(self["cubin"])

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

    def __len__(self):  # also used by bool(): a dict's own counts only the stages that were read
        return len(self._handle.stages)

    def values(self):
        return [self[stage] for stage in self._handle.stages]

    def items(self):
        return [(stage, self[stage]) for stage in self._handle.stages]

    def __reduce__(self):
        return AsmDict, (self._handle,)


class CompiledKernel:
    """One specialization of a kernel. `asm` has its code at each stage: for a CPU as ttir, loops, llir and asm text and as obj bytes, for a
    GPU as ttir, ttgir, llir and ptx text, and as cubin bytes if an assembler was found."""

    n_max_threads = 1024

    def __init__(self, handle, fn=None, src=None):
        self._handle = handle
        self._fn = fn  # the later stages of `asm` may need its module
        self._src = src
        self._metadata = None
        self._hash = None
        self._is_loaded = False
        self.asm = AsmDict(handle)
        self.name = self._called(fn, handle)

    @staticmethod
    def _called(fn, handle):
        """Returns the kernel's name, or the name that its `repr` gives to the specialization."""
        if getattr(fn, "_repr", None) is None:
            return handle.name
        types, constants, _ = handle.description
        named = {fn.arg_names[path[0]]: value for path, value in constants.items() if len(path) == 1}
        return fn.repr(SpecializationProxy(named, {name: word or "constexpr" for name, word in zip(fn.arg_names, types)}))

    @property
    def src(self):
        """The source: an ASTSource, or the IRSource that was compiled."""
        if self._src is None:
            self._src = ASTSource.of_handle(self._fn, self._handle)
        return self._src

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
        """The number of registers of one GPU thread; on a CPU, the number of its vector registers."""
        gpu = self._handle.gpu
        return gpu["n_regs"] if gpu else _core.target()["registers"]

    @property
    def n_spills(self):
        gpu = self._handle.gpu
        return gpu["n_spills"] if gpu else 0

    @property
    def from_cache(self):
        """True if the code came from the cache folder."""
        return self._handle.from_cache

    @property
    def compile_seconds(self):
        return self._handle.compile_seconds

    @property
    def assemble_seconds(self):
        """The part of compile_seconds that ptxas and the driver took, in seconds."""
        return self._handle.assemble_seconds

    @property
    def metadata(self):
        if self._metadata is None:
            from .. import triton_version
            gpu = self._handle.gpu
            target = GPUTarget("cuda", gpu["capability"], 32) if gpu else GPUTarget("cpu", _core.target()["level"], 1)
            given = src_options(self._src) | self._handle.options
            options = make_backend(target).parse_options(given)
            # On a CPU, a program's scratch memory replaces shared memory. Host code divides by this number, so it is at least 1.
            arena = self._handle.arena_bytes
            values = (self.name, self.hash, target, gpu["shared"] if gpu else max(arena, 1), arena, (gpu["num_ctas"] if gpu else 1, 1, 1),
                      None, 0, 1, 0, 1, triton_version)
            self._metadata = KernelMetadata(*values, **asdict(options))
        return self._metadata

    @property
    def packed_metadata(self):
        return make_backend(self.metadata.target).pack_metadata(self.metadata)

    @property
    def metadata_group(self):
        """The paths of files with the kernel's stages. It is empty: the cache stores a kernel in one file with its own format."""
        return {}

    @property
    def kernel(self):
        """The machine code as bytes."""
        return self.asm["cubin" if self._handle.gpu else "obj"]

    @property
    def module(self):
        """Not None once the code is loaded, like upstream's module handle of the driver."""
        return self if self._is_loaded else None

    @property
    def function(self):
        return self._handle if self._is_loaded else None

    @property
    def run(self):
        """run(grid_0, grid_1, grid_2, stream, function, metadata, launch_metadata, enter_hook, exit_hook, *arguments): a launch as
        generated host code does it. There is one argument for each parameter, constants included."""
        self._init_handles()
        launch = self._handle.launch

        def run(grid_0, grid_1, grid_2, stream, function, metadata, launch_metadata, enter_hook, exit_hook, *arguments):
            if launch_metadata is None:
                launch_metadata = self.launch_metadata((grid_0, grid_1, grid_2), stream, *arguments)
            if enter_hook:
                enter_hook(launch_metadata)
            launch((grid_0, grid_1, grid_2), stream, *arguments)
            if exit_hook:
                exit_hook(launch_metadata)

        return self._handle.runner(run)  # calls it only if there are hooks

    def _init_handles(self):
        """Loads the code, if it is not loaded, and calls the hooks of knobs.runtime."""
        if self._is_loaded:
            return
        limit = driver.active.utils.get_device_properties(driver.active.get_current_device())["max_shared_mem"]
        if self._handle.gpu and self._handle.gpu["shared"] > limit:
            raise OutOfResources(self._handle.gpu["shared"], limit, "shared memory")
        told = (self.name, self.metadata_group, self.hash)
        knobs.runtime.kernel_load_start_hook(self.module, self.function, *told)
        self._is_loaded = True
        knobs.runtime.kernel_load_end_hook(self.module, self.function, *told)

    def launch_metadata(self, grid, stream, *arguments):
        """The metadata for the hooks of a launch; None if there are no hooks."""
        if not knobs.runtime.launch_enter_hook and not knobs.runtime.launch_exit_hook:
            return None
        self._init_handles()
        told = LazyDict({"name": self.name, "function": self.function, "stream": stream}, self)
        describe = getattr(self._fn, "launch_metadata", None)
        if describe is not None:
            told.add(describe, (grid, self.metadata, dict(zip(self._fn.arg_names, arguments))))
        return told

    def result(self):
        return self

    def __getitem__(self, grid):
        grid = (*grid, 1, 1)[:3] if isinstance(grid, (tuple, list)) else grid

        def runner(*arguments, stream=None):
            self.run(*grid, stream, self.function, self.packed_metadata, self.launch_metadata(grid, stream, *arguments),
                     knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook, *arguments)

        return runner

    def __del__(self):
        if getattr(self, "_is_loaded", False):
            knobs.runtime.kernel_unload_hook(self.module, self.function, self.name, self.metadata_group, self._hash)
            self._is_loaded = False

    def __repr__(self):
        return f"CompiledKernel({self.name}: {self.signature})"


def restore(*state):
    """The handle of a kernel that another process has pickled."""
    return _core.restore_compiled(*state)


def src_options(src):
    """The options with which a source was compiled, as they were given."""
    return dict(getattr(src, "given_options", None) or {})
