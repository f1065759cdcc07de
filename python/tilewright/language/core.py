"""The names of `triton.language` as Python sees them.

Kernels are compiled from their source, so almost nothing here computes: a builtin is a name with a signature and a
documentation, made from the compiler's own table. What host code really uses lives here in full: element types with
their properties, `constexpr`, and the classes that annotations and isinstance name.
"""

import builtins
import enum
import operator

from .. import _core

TRITON_MAX_TENSOR_NUMEL = 1048576
TRITON_BUILTIN = "__triton_builtin__"


# ---- element types


class base_type:
    """The root of all types."""


class dtype(base_type):
    """An element type. `name` is "fp32", "int32", "uint8", "bf16", "fp8e4nv" and so on."""

    SINT_TYPES = ["int8", "int16", "int32", "int64"]
    UINT_TYPES = ["int1", "uint8", "uint16", "uint32", "uint64"]
    FP_TYPES = ["fp8e4b15", "fp8e4nv", "fp8e4b8", "fp8e5", "fp8e5b16", "fp16", "bf16", "fp32", "fp64"]
    STANDARD_FP_TYPES = ["fp16", "bf16", "fp32", "fp64"]
    OTHER_TYPES = ["void"]

    class SIGNEDNESS(enum.Enum):
        SIGNED = 0
        UNSIGNED = 1

    class KIND(enum.Enum):
        BOOLEAN = 0
        INTEGRAL = 1
        FLOATING = 2

    _tilewright_path = "triton.language.dtype"
    # mantissa bits and exponent bias
    _FLOATS = {"fp8e4b15": (3, 15), "fp8e4nv": (3, 7), "fp8e4b8": (3, 8), "fp8e5": (2, 15), "fp8e5b16": (2, 16), "fp16": (10, 15),
               "bf16": (7, 127), "fp32": (23, 127), "fp64": (52, 1023)}

    def __init__(self, name):
        name = _unwrap_if_constexpr(name)
        if name not in dtype.SINT_TYPES + dtype.UINT_TYPES + dtype.FP_TYPES + dtype.OTHER_TYPES:
            raise AssertionError(f"there is no element type '{name}'")
        self.name = name
        if name in dtype._FLOATS:
            self.fp_mantissa_width, self.exponent_bias = dtype._FLOATS[name]
            self.primitive_bitwidth = 8 if "fp8" in name else int(name[2:])
        elif name == "void":
            self.primitive_bitwidth = 0
        else:
            signed = name in dtype.SINT_TYPES
            self.int_signedness = dtype.SIGNEDNESS.SIGNED if signed else dtype.SIGNEDNESS.UNSIGNED
            self.int_bitwidth = self.primitive_bitwidth = int(name.partition("int")[2])
        self.itemsize = (self.primitive_bitwidth + 7) // 8

    @property
    def _tilewright_name(self):
        return self.name

    def is_fp8(self):
        return self.name.startswith("fp8")

    def is_floating(self):
        return self.name in dtype.FP_TYPES

    def is_standard_floating(self):
        return self.name in dtype.STANDARD_FP_TYPES

    def is_int_signed(self):
        return self.name in dtype.SINT_TYPES

    def is_int_unsigned(self):
        return self.name in dtype.UINT_TYPES

    def is_int(self):
        return self.is_int_signed() or self.is_int_unsigned()

    def is_bool(self):
        return self.name == "int1"

    def kind(self):
        if self.is_bool():
            return dtype.KIND.BOOLEAN
        return dtype.KIND.INTEGRAL if self.is_int() else dtype.KIND.FLOATING

    def get_int_max_value(self):
        if self.is_int_signed():
            return 2**(self.int_bitwidth - 1) - 1
        if self.is_int_unsigned():
            return 2**self.int_bitwidth - 1
        raise AssertionError(f"{self.name} is no integer type")

    def get_int_min_value(self):
        if self.is_int_signed():
            return -2**(self.int_bitwidth - 1)
        if self.is_int_unsigned():
            return 0
        raise AssertionError(f"{self.name} is no integer type")

    @staticmethod
    def is_dtype(name):
        return name in dtype.SINT_TYPES + dtype.UINT_TYPES + dtype.FP_TYPES + dtype.OTHER_TYPES

    def is_void(self):
        return self.name == "void"

    @staticmethod
    def is_block():
        return False

    @staticmethod
    def is_ptr():
        return False

    @staticmethod
    def is_const():
        return False

    @property
    def scalar(self):
        return self

    @property
    def element_ty(self):
        return self

    def with_element_ty(self, element_ty):
        return element_ty

    def codegen_name(self):
        if self.name.startswith("fp"):
            return "float" + self.name[2:]
        return "bfloat" + self.name[2:] if self.name.startswith("bf") else self.name

    @property
    def cache_key_part(self):
        return self.name

    def mangle(self):
        if self.is_int():
            return ("i" if self.is_int_signed() else "u") + str(self.int_bitwidth)
        return "V" if self.is_void() else self.name

    def __eq__(self, other):
        other = _unwrap_if_constexpr(other)
        return type(other) is dtype and self.name == other.name

    def __hash__(self):
        return hash((self.name,))

    def __str__(self):
        return self.name

    def __repr__(self):
        return f"triton.language.{self.codegen_name()}"


for _name in dtype.SINT_TYPES + dtype.UINT_TYPES + dtype.FP_TYPES:
    if not hasattr(dtype, f"is_{_name}"):
        setattr(dtype, f"is_{_name}", lambda self, _name=_name: self.name == _name)
del _name


class pointer_type(dtype):
    """The type of an address of elements."""

    _tilewright_path = "triton.language.pointer_type"

    def __init__(self, element_ty, address_space=1, const=False):
        element_ty = _unwrap_if_constexpr(element_ty)
        if not isinstance(element_ty, dtype):
            raise TypeError(f"element_ty has type `{type(element_ty).__name__}`; expected `dtype`.")
        self._element = element_ty
        self.address_space = address_space
        self.const = const
        self.name = f"pointer<{element_ty}>" if not const else f"const_pointer<{element_ty}>"
        self.primitive_bitwidth = 64
        self.itemsize = 8

    @property
    def _tilewright_name(self):
        return ("*k" if self.const else "*") + self._element._tilewright_name

    @property
    def element_ty(self):
        return self._element

    @staticmethod
    def is_ptr():
        return True

    def is_const(self):
        return self.const

    def mangle(self):
        return "P" + self._element.mangle()

    def __eq__(self, other):
        other = _unwrap_if_constexpr(other)
        return isinstance(other, pointer_type) and (self._element, self.address_space, self.const) == (
            other._element, other.address_space, other.const)

    def __hash__(self):
        return hash((self.name, self.address_space))

    def __repr__(self):
        return self.name


class block_type(dtype):
    """The type of a tile."""

    _tilewright_path = "triton.language.block_type"

    def __init__(self, element_ty, shape):
        self._element = _unwrap_if_constexpr(element_ty)
        self.shape = builtins.tuple(_unwrap_shape(shape))
        if not self.shape:
            raise TypeError("0d block_type is forbidden")
        self.numel = 1
        for extent in self.shape:
            if not isinstance(extent, int):
                raise TypeError(f"Shape element must have type `constexpr[int]`, got `{type(extent)}`")
            if extent <= 0 or extent & (extent - 1):
                raise ValueError(f"Shape element must be a power of 2, not {extent}")
            self.numel *= extent
        if self.numel > TRITON_MAX_TENSOR_NUMEL:
            raise ValueError(f"numel ({self.numel}) exceeds triton maximum tensor numel ({TRITON_MAX_TENSOR_NUMEL})")
        self.name = f"<{[str(extent) for extent in self.shape]}, {self._element}>"
        self.primitive_bitwidth = self._element.primitive_bitwidth
        self.itemsize = self._element.itemsize

    @property
    def element_ty(self):
        return self._element

    @property
    def scalar(self):
        return self._element

    @staticmethod
    def is_block():
        return True

    def get_block_shapes(self):
        return self.shape

    def with_element_ty(self, element_ty):
        return block_type(element_ty, self.shape)

    @property
    def nbytes(self):
        return self.numel * self.itemsize

    def mangle(self):
        return f"{self._element.mangle()}S{'_'.join(map(str, self.shape))}S"

    def __eq__(self, other):
        return isinstance(other, block_type) and self._element == other._element and self.shape == other.shape

    def __hash__(self):
        return hash((self._element, self.shape))

    def __repr__(self):
        return self.name


class tuple_type(base_type):
    def __init__(self, types, fields=None):
        self.types = types
        self.fields = fields or [""] * len(types)
        self.name = "[" + ",".join(f"{field}:{kind}" if field else str(kind) for field, kind in zip(self.fields, types)) + "]"

    def __str__(self):
        return self.name

    def __eq__(self, other):
        return type(other) is tuple_type and self.types == other.types and self.fields == other.fields

    def __hash__(self):
        return hash(self.name)


class tensor_descriptor_base_type(base_type):
    def __init__(self, block_type):
        self.block_type = block_type

    def __str__(self):
        return f"tensor_descriptor<{self.block_type}>"


class tensor_descriptor_type(tensor_descriptor_base_type):
    pass


class slice_type(dtype):
    def __init__(self):
        self.name = "slice_type"


# ---- constants


class constexpr_type(base_type):
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, constexpr_type) and self.value == other.value

    def __hash__(self):
        return hash(self.value)

    def __repr__(self):
        return f"constexpr_type[{self.value}]"

    def mangle(self):
        return f"c{self.value}"


class base_value:
    """The root of all values of the language."""

    type = None


class constexpr(base_value):
    """A value that is known when a kernel is compiled."""

    _tilewright_path = "triton.language.constexpr"

    def __init__(self, value):
        while isinstance(value, constexpr):
            value = value.value
        self.value = value
        self.type = constexpr_type(value)

    @property
    def _tilewright_value(self):
        return self.value

    def __repr__(self):
        return f"constexpr[{self.value}]"

    def __hash__(self):
        return hash((self.value, constexpr_type))

    def __index__(self):
        return operator.index(self.value)

    def __int__(self):
        return int(self.value)

    def __float__(self):
        return float(self.value)

    def __bool__(self):
        return bool(self.value)

    def __eq__(self, other):
        return constexpr(self.value == _unwrap_if_constexpr(other))

    def __ne__(self, other):
        return constexpr(self.value != _unwrap_if_constexpr(other))

    def __iter__(self):
        return iter(self.value)

    def __len__(self):
        return len(self.value)

    def __getitem__(self, index):
        return constexpr(self.value[_unwrap_if_constexpr(index)])

    def __call__(self, *args, **kwargs):
        return self.value(*args, **kwargs)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.value, name)

    def __not__(self):
        return constexpr(not self.value)

    def logical_and(self, other):
        return constexpr(self.value and _unwrap_if_constexpr(other))

    def logical_or(self, other):
        return constexpr(self.value or _unwrap_if_constexpr(other))


def _add_operators():
    def forward(function):
        return lambda self, other: constexpr(function(self.value, _unwrap_if_constexpr(other)))

    def reflected(function):
        return lambda self, other: constexpr(function(_unwrap_if_constexpr(other), self.value))

    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor"):
        function = getattr(operator, name if name not in ("and", "or") else name + "_")
        setattr(constexpr, f"__{name}__", forward(function))
        setattr(constexpr, f"__r{name}__", reflected(function))
    for name in ("lt", "le", "gt", "ge"):
        setattr(constexpr, f"__{name}__", forward(getattr(operator, name)))
    for name in ("neg", "pos", "invert"):
        setattr(constexpr, f"__{name}__", lambda self, function=getattr(operator, name): constexpr(function(self.value)))


_add_operators()


def _unwrap_if_constexpr(value):
    if isinstance(value, list):
        return [_unwrap_if_constexpr(item) for item in value]
    if type(value) is builtins.tuple:
        return builtins.tuple(_unwrap_if_constexpr(item) for item in value)
    return value.value if isinstance(value, constexpr) else value


def _unwrap_shape(shape):
    return [_unwrap_if_constexpr(extent) for extent in _unwrap_if_constexpr(shape)]


# ---- classes that annotations and isinstance name, and that kernels use by name


class const:
    """Annotates a pointer through which a kernel must not store."""

    _tilewright_path = "triton.language.const"


class tensor(base_value):
    """A value of a running kernel. Host code has none."""

    _tilewright_path = "triton.language.tensor"

    def __init__(self, handle, type):
        raise RuntimeError("tl.tensor values exist in kernels only")


class tuple(base_value):
    """Several values as one, in kernels."""

    _tilewright_path = "triton.language.tuple"

    def __init__(self, args, type=None):
        self.values = list(args)

    @property
    def _tilewright_value(self):
        return builtins.tuple(self.values)

    def __getitem__(self, index):
        return self.values[_unwrap_if_constexpr(index)]

    def __iter__(self):
        return iter(self.values)

    def __len__(self):
        return len(self.values)

    def __eq__(self, other):
        return builtins.tuple(self.values) == builtins.tuple(other)

    def __hash__(self):
        return hash(builtins.tuple(self.values))


class slice:
    def __init__(self, start, stop, step):
        self.start, self.stop, self.step = start, stop, step
        self.type = slice_type()


class tensor_descriptor_base(base_value):
    pass


class tensor_descriptor(tensor_descriptor_base):
    """A strided tensor with the shape of the blocks taken from it, in kernels."""

    _tilewright_path = "triton.language.tensor_descriptor"


class range(base_value):
    """`for i in tl.range(...)`: a loop at run time, with wishes for the compiler."""

    _tilewright_path = "triton.language.range"

    def __init__(self, arg1, arg2=None, step=None, num_stages=None, loop_unroll_factor=None, disallow_acc_multi_buffer=False, flatten=False,
                 warp_specialize=False, disable_licm=False):
        self.start, self.end = (0, arg1) if arg2 is None else (arg1, arg2)
        self.step = 1 if step is None else step
        self.num_stages = num_stages
        self.loop_unroll_factor = loop_unroll_factor

    def __iter__(self):
        raise RuntimeError("tl.range can only be used in @triton.jit'd functions")

    __next__ = __iter__


class static_range(base_value):
    """`for i in tl.static_range(...)`: a loop that is unrolled while compiling."""

    _tilewright_path = "triton.language.static_range"

    def __init__(self, arg1, arg2=None, step=None):
        self.start, self.end = (0, arg1) if arg2 is None else (arg1, arg2)
        self.step = 1 if step is None else step

    def __iter__(self):
        raise RuntimeError("tl.static_range can only be used in @triton.jit'd functions")

    __next__ = __iter__


class condition(base_value):
    """`while tl.condition(...)`: a loop's condition, with wishes for the compiler."""

    _tilewright_path = "triton.language.condition"

    def __init__(self, arg1, disable_licm=False):
        self.condition = arg1
        self.disable_licm = disable_licm


class PropagateNan(enum.Enum):
    """What NaN does to minimum, maximum and clamp."""

    NONE = 0
    ALL = 0xFFFF


PropagateNan._tilewright_path = "triton.language.PropagateNan"


class builtin_function:
    """A function of the language. Kernels call it; host code passes it on, or gets its documentation."""

    _tilewright_builtin = True
    __triton_builtin__ = True

    def __init__(self, path, signature, summary):
        self._tilewright_path = path
        self.__name__ = self.__qualname__ = path.rpartition(".")[2]
        self.__module__ = "triton.language"
        self.__doc__ = f"{signature}\n\n{summary}." if signature else summary

    def __call__(self, *args, **kwargs):
        host = _ON_HOST.get(self.__name__)
        if host and not any(isinstance(value, tensor) for value in args):
            return host(*map(_unwrap_if_constexpr, args), **kwargs)
        raise ValueError(f"Did you forget to add @triton.jit ? {self._tilewright_path} can only be called in a kernel")

    def __repr__(self):
        return f"<function {self._tilewright_path}>"


# The few that make sense for plain numbers outside of kernels.
_ON_HOST = {"cdiv": lambda x, div: (x + div - 1) // div, "to_tensor": lambda x: x, "static_assert": None}


def builtin(fn):
    """Marks a function of the language's own library."""
    fn.__triton_builtin__ = True
    return fn


def is_builtin(fn):
    return getattr(fn, TRITON_BUILTIN, False) is True


def must_use_result(x, s=True):
    """Marks a function whose result must not be thrown away."""
    if isinstance(x, str):
        return lambda fn: must_use_result(fn, x)
    x._must_use_result = s
    return x


def extern(fn):
    return builtin(fn)


# ---- the members themselves, from the compiler's table


def _table():
    return {path: (signature, summary) for path, signature, summary in _core.builtins()}


_ROWS = _table()
_TYPE_NAMES = {"pi32_t": lambda: pointer_type(int32), "void": lambda: void}

void = dtype("void")
int1, int8, int16, int32, int64 = map(dtype, ("int1", "int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = map(dtype, ("uint8", "uint16", "uint32", "uint64"))
float8e5, float8e5b16, float8e4nv = map(dtype, ("fp8e5", "fp8e5b16", "fp8e4nv"))
float8e4b8, float8e4b15 = map(dtype, ("fp8e4b8", "fp8e4b15"))
float16, bfloat16, float32, float64 = map(dtype, ("fp16", "bf16", "fp32", "fp64"))
pi32_t = pointer_type(int32)

_BY_NAME = {kind.name: kind for kind in (void, int1, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float8e5, float8e5b16,
                                         float8e4nv, float8e4b8, float8e4b15, float16, bfloat16, float32, float64)}
_WORDS = {**_BY_NAME, **{f"i{bits}": dtype(f"int{bits}") for bits in (1, 8, 16, 32, 64)},
          **{f"u{bits}": dtype(f"uint{bits}") for bits in (8, 16, 32, 64)}, "u1": int1, "B": int1}


def type_named(text):
    """The type that a signature's word stands for: "*fp32", "i64"."""
    if text.startswith("*k"):
        return pointer_type(type_named(text[2:]), const=True)
    if text.startswith("*"):
        return pointer_type(type_named(text[1:]))
    return _WORDS[text]


def str_to_ty(name, constant=None):
    if name == "constexpr":
        return constexpr_type(constant)
    return type_named(name)


def get_int_dtype(bitwidth, signed):
    name = "int1" if bitwidth == 1 else f"{'int' if signed else 'uint'}{bitwidth}"
    return _BY_NAME[name]


def members(path):
    """The members of a language module: everything that is no type, as objects of Python."""
    prefix = path.removeprefix("triton.language").lstrip(".")
    made = {}
    for name, kind in _core.language_members(path):
        if kind in ("type", "module", "other"):
            continue
        full = f"{prefix}.{name}" if prefix else name
        signature, summary = _ROWS.get(full, ("", "a function of the language's library"))
        made[name] = builtin_function(f"{path}.{name}", signature, summary)
    return made


def member_named(path):
    """The object for a builtin's path below triton.language."""
    import importlib
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module("tilewright.language" + ("." + module if module else "")), name)


_members = members("triton.language")
globals().update({name: value for name, value in _members.items() if name not in globals()})

def _refuse_aggregate(cls):
    raise NotImplementedError("aggregates are not supported: pass a tuple or a namedtuple")


_aggregate = _refuse_aggregate
