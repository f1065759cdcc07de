"""The C text that tools.compile and tools.link write: for each back end, the declarations and the launcher of a kernel's variant."""

import re
from dataclasses import dataclass

from tilewright import _core

_TYPES = {"i1": "int8_t", "u1": "uint8_t", "fp32": "float", "f32": "float", "fp64": "double", "f64": "double"}
_TYPES |= {f"{sign}{bits}": f"{'u' if sign == 'u' else ''}int{bits}_t" for sign in "iu" for bits in (8, 16, 32, 64)}
_POINTERS = {"cuda": "CUdeviceptr", "cpu": "TT_Pointer"}


@dataclass
class Variant:
    """A kernel compiled for one signature. `code`: as Compiled.standalone returns it; parameters are (C type, name); `algorithm`: a text that differs
    between variants with different constants."""

    name: str
    backend: str
    code: dict
    grid: list
    doc: str
    parameters: list
    all_parameters: list
    algorithm: str


def type_of(word, backend):
    """The C type of a parameter."""
    if word.startswith("*"):
        return _POINTERS[backend]
    if word not in _TYPES:
        raise ValueError(f"a parameter of type '{word}' has no type in C; use one of {', '.join(_TYPES)} or a pointer")
    return _TYPES[word]


# What the launchers use.
_TAKEN = "memcpy algo_id CUdeviceptr CUstream CUresult TT_Pointer TT_StreamTy TT_ResultTy tt_stream tt_grid tt_sizes tt_arguments tt_launch tt_algorithms".split()


def names_in_c(names):
    """{parameter: its name in C}. Keywords, macros and names of the launchers get an underscore."""
    return dict(zip(names, _core.c_parameter_names(list(names), _TAKEN)))


def renamed(text, names):
    """An expression of C in which the parameters have their names in C."""
    return re.sub(r"\b[A-Za-z_]\w*", lambda word: names.get(word[0], word[0]), text)


def declared(parameters):
    return "".join(f", {type} {name}" for type, name in parameters)


# The common beginning of both tools' files. Every header has it, and it takes effect once in a translation unit.
_TYPES_OF = {
    "cuda": """#include <stdint.h>

#include <cuda.h>

typedef CUstream TT_StreamTy;
typedef CUresult TT_ResultTy;

#define TT_ERROR_INVALID_VALUE CUDA_ERROR_INVALID_VALUE
""",
    "cpu": """#include <stdint.h>

typedef void *TT_StreamTy;  /* ignored on a CPU */
typedef void *TT_Pointer;
typedef int TT_ResultTy;

#define TT_SUCCESS 0
#define TT_ERROR_INVALID_VALUE 1
#define TT_ERROR_OUT_OF_MEMORY 2
""",
}


def prelude(backend):
    return f"#ifndef TT_{backend.upper()}_TYPES\n#define TT_{backend.upper()}_TYPES\n\n{_TYPES_OF[backend]}\n#endif\n\n"


def header(variant):
    full = ", ".join(f"{type} {name}" for type, name in variant.all_parameters)
    return (f"{prelude(variant.backend)}// tt-linker-backend: {variant.backend}\n\nvoid load_{variant.name}(void);\nvoid unload_{variant.name}(void);\n"
            f"// tt-linker: {variant.name}:{full}:{variant.algorithm}\n"
            f"TT_ResultTy {variant.name}(TT_StreamTy tt_stream{declared(variant.parameters)});\n")


_CUDA = """/* @DOC@ */
@PRELUDE@#include <stdio.h>

enum { TT_DEVICES = 64 };
static const unsigned char code[] = {@CODE@};
static CUmodule modules[TT_DEVICES];
static CUfunction functions[TT_DEVICES];

/* The function for the device of the current context. It is loaded once for each device, also if several threads launch it. */
static CUresult tt_load(CUfunction *function) {
  CUdevice device = 0;
  CUmodule loaded = NULL;
  CUfunction known = NULL;
  CUresult result = cuCtxGetDevice(&device);
  if (result != CUDA_SUCCESS) return result;
  if (device < 0 || device >= TT_DEVICES) return CUDA_ERROR_INVALID_VALUE;
  *function = __atomic_load_n(&functions[device], __ATOMIC_ACQUIRE);
  if (*function) return CUDA_SUCCESS;
  result = cuModuleLoadData(&loaded, code);
  if (result == CUDA_SUCCESS) result = cuModuleGetFunction(function, loaded, "@ENTRY@");
  if (result == CUDA_SUCCESS && @SHARED@ > 48 * 1024)
    result = cuFuncSetAttribute(*function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, @SHARED@);
  if (result != CUDA_SUCCESS) {
    if (loaded) cuModuleUnload(loaded);
    return result;
  }
  if (__atomic_compare_exchange_n(&functions[device], &known, *function, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    modules[device] = loaded;
  } else { /* another thread was faster */
    cuModuleUnload(loaded);
    *function = known;
  }
  return CUDA_SUCCESS;
}

static TT_ResultTy tt_launch(TT_StreamTy stream, const int64_t grid[3], void **arguments) {
  CUfunction function = NULL;
  CUresult result = tt_load(&function);
  if (result != CUDA_SUCCESS) return result;
  if (grid[0] <= 0 || grid[1] <= 0 || grid[2] <= 0) return CUDA_SUCCESS;
  return cuLaunchKernel(function, (unsigned)grid[0], (unsigned)grid[1], (unsigned)grid[2], @THREADS@, 1, 1, @SHARED@, stream, arguments, NULL);
}

void load_@NAME@(void) {
  CUfunction function = NULL;
  CUresult result = tt_load(&function);
  const char *text = NULL;
  if (result != CUDA_SUCCESS && cuGetErrorString(result, &text) == CUDA_SUCCESS) fprintf(stderr, "@NAME@: %s\\n", text);
}

/* For the device of the current context. */
void unload_@NAME@(void) {
  CUdevice device = 0;
  if (cuCtxGetDevice(&device) != CUDA_SUCCESS || device < 0 || device >= TT_DEVICES || !modules[device]) return;
  cuModuleUnload(modules[device]);
  modules[device] = NULL;
  functions[device] = NULL;
}

TT_ResultTy @NAME@(TT_StreamTy tt_stream@PARAMETERS@) {
  const int64_t tt_grid[3] = {@GRID@};
  void *tt_arguments[] = {@ADDRESSES@NULL};
  return tt_launch(tt_stream, tt_grid, tt_arguments);
}
"""

_CPU = """/* @DOC@ */
@PRELUDE@#include <stdlib.h>
#include <string.h>
@INCLUDES@
@CODE@/* Runs programs of the grid, from the first up to the last. The first @HEAD@ bytes of scratch are zero when a launch begins. */
void @NAME@_programs(const uint64_t *arguments, const int32_t grid[3], int64_t first, int64_t last, void *scratch);

void load_@NAME@(void) {
@LOAD@}

void unload_@NAME@(void) {}

/* On as many threads as OpenMP has, where this is compiled for it. */
static TT_ResultTy tt_launch(const int64_t sizes[3], const uint64_t *arguments) {
  load_@NAME@();
  const int32_t grid[3] = {(int32_t)sizes[0], (int32_t)sizes[1], (int32_t)sizes[2]};
  if (sizes[0] <= 0 || sizes[1] <= 0 || sizes[2] <= 0) return TT_SUCCESS;
  const int64_t programs = sizes[0] * sizes[1] * sizes[2], parts = programs < 256 ? programs : 256;
  int failed = 0;
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic) reduction(| : failed)
#endif
  for (int64_t part = 0; part < parts; ++part) {
    char *memory = malloc(@ARENA@ + 64); /* C99 has no aligned_alloc */
    if (memory) {
      char *scratch = memory + 64 - (uintptr_t)memory % 64;
      memset(scratch, 0, @HEAD@);
      @NAME@_programs(arguments, grid, programs * part / parts, programs * (part + 1) / parts, scratch);
    }
    failed |= !memory;
    free(memory);
  }
  return failed ? TT_ERROR_OUT_OF_MEMORY : TT_SUCCESS;
}

TT_ResultTy @NAME@(TT_StreamTy tt_stream@PARAMETERS@) {
  (void)tt_stream;
  const int64_t tt_sizes[3] = {@GRID@};
  uint64_t tt_arguments[@COUNT@] = {0};
@ARGUMENTS@  return tt_launch(tt_sizes, tt_arguments);
}
"""

TEMPLATES = {"cuda": _CUDA, "cpu": _CPU}

# Linux lets a process use AMX tiles only after it has requested them.
_TILES = "  static _Atomic int asked;\n  if (!asked) syscall(SYS_arch_prctl, 0x1023, 18), asked = 1;\n"


def _filled(template, values):
    for word, value in values.items():
        template = template.replace(f"@{word}@", str(value))
    return template


def _cuda_values(variant):
    code = variant.code
    if code["maps"]:
        raise ValueError("kernels with tensor descriptors among their parameters cannot be launched from C")
    return {"CODE": ", ".join(str(byte) for byte in code["code"] + b"\0"), "ENTRY": code["entry"], "SHARED": code["shared"], "THREADS": code["threads"],
            "ADDRESSES": "".join(f"&{name}, " for _, name in variant.parameters)}


def _argument(index, type, name):
    """C code for an argument as eight bytes: integers are extended by their sign, floats give their bits."""
    if type in ("float", "double"):
        return f"  memcpy(&tt_arguments[{index}], &{name}, sizeof {name});\n"
    return f"  tt_arguments[{index}] = (uint64_t){'(int64_t)' if type.startswith('int') else '(uintptr_t)' if type == 'TT_Pointer' else ''}{name};\n"


def _cpu_values(variant):
    assembly = variant.code["code"]
    if "tilewright_" in assembly:
        raise ValueError("tl.device_print and tl.device_assert need the library: they cannot be compiled to C for a CPU")
    tiles = "\ttile" in assembly
    head = variant.code["head_bytes"]
    return {"CODE": variant.code["source"], "ARENA": max(variant.code["arena_bytes"], head), "HEAD": head,
            "INCLUDES": "#include <sys/syscall.h>\n#include <unistd.h>\n" if tiles else "", "LOAD": _TILES if tiles else "",
            "COUNT": len(variant.parameters) + 1,
            "ARGUMENTS": "".join(_argument(index, type, name) for index, (type, name) in enumerate(variant.parameters))}


def source(variant):
    values = (_cuda_values if variant.backend == "cuda" else _cpu_values)(variant)
    values |= {"DOC": variant.doc, "PRELUDE": prelude(variant.backend), "PARAMETERS": declared(variant.parameters), "GRID": ", ".join(variant.grid)}
    return _filled(TEMPLATES[variant.backend], values | {"NAME": variant.name})
