#!/usr/bin/env python3
"""Writes the builtins of kernels in C++ from the tables of the language, and checks that none is missing.

    tools/cpp_language.py            writes include/tilewright/language/generated.h and libdevice.h
    tools/cpp_language.py --check    fails if these are not up to date, or if the headers and the tables disagree

src/evaluate/builtins.def and library.def list the language's functions, libdevice.def the overloads of libdevice. A function whose result
has the type of its arguments belongs to a family below, and its C++ form is generated. Functions with their own rule for the result's type
are written by hand in include/tilewright/language/. The check reads the calls in those headers: each names a builtin of the tables, with
its parameters, and each builtin of the tables is called or is in `NOT_IN_CPP` with the reason.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADERS = ROOT / "include" / "tilewright" / "language"
TABLES = ROOT / "src" / "evaluate"

# Families of builtins, by the rule for the type of the result.
FLOAT_FUNCTIONS = ["exp", "exp2", "log", "log2", "sin", "cos", "sqrt", "rsqrt", "erf", "floor", "ceil"]
ARITHMETIC = {"add": "TW_ADD", "sub": "TW_SUBTRACT", "mul": "TW_MULTIPLY"}
HINTS = ["multiple_of", "max_contiguous", "max_constancy"]
ATOMICS = ["atomic_add", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor", "atomic_xchg"]
DESCRIPTOR_ATOMICS = ["atomic_add", "atomic_min", "atomic_max", "atomic_and", "atomic_or", "atomic_xor"]
TARGET_QUESTIONS = ["is_cuda", "is_hip", "is_hip_cdna3", "is_hip_cdna4", "is_hip_gfx1250"]
INDEX_FREE = {"cumprod": "product", "cumsum": "sum"}

NOT_IN_CPP = {
    "constexpr": "a constant is a constant of C++, or a template argument",
    "PropagateNan": "C++ has the enumerators propagate_nan::none and propagate_nan::all",
    "extern_elementwise": "libdevice.h declares the functions of the device library",
    "static_print": "the kernel function is C++: print with the tools of C++",
    "static_assert": "static_assert of C++",
    "range": "for_range",
    "static_range": "a for loop of C++, or static_for",
    "condition": "while_",
    "target_info.current_target": "its result is a text, which C++ cannot know while it compiles",
    "_reduce_with_indices": "internal to the library",
    "_sort": "internal to the library",
    "_check_topk": "internal to the library",
    "_promote_bfloat16_to_float32": "internal to the library",
    "tensor": "the class template tile",
    "tuple": "structures and std::tuple of C++",
    "dtype": "the element types of C++",
    "pointer_type": "ptr<T>",
    "block_type": "tile<T, ...>",
    "tensor_descriptor": "the class template tensor_descriptor",
    "constexpr_type": "types of C++",
    "tuple_type": "types of C++",
    "aggregate_replace": "assignment to a member of a structure",
    "tensor.logical_and": "the operator &&",
    "tensor.logical_or": "the operator ||",
    "add_": "",
    "sort_impl": "internal to sort and topk",
    "philox_impl": "internal to philox",
    "extra.cuda.convert_custom_float8_sm80": "cast",
    "extra.cuda.convert_custom_float8_sm70": "cast",
}
NOT_IN_CPP.pop("add_")


def rows(table, macro):
    pattern = re.compile(r'^%s\("([^"]*)", "((?:[^"\\]|\\.)*)", "((?:[^"\\]|\\.)*)"' % macro, re.M)
    return {path: (signature, summary) for path, signature, summary in pattern.findall((TABLES / table).read_text())}


def builtins():
    return {**rows("builtins.def", "BUILTIN"), **rows("library.def", "LIBRARY")}


def parameters(signature):
    inner = signature[signature.index("(") + 1:-1]
    return [part.strip().lstrip("*").split("=")[0] for part in inner.split(",") if part.strip()]


def comment(table, path):
    summary = table[path][1]
    return f"/// {summary[0].upper()}{summary[1:]}."


def float_function(table, path):
    name = path.split(".")[-1]
    return f"""{comment(table, path)} Of float and double.
template <typename T, int... Shape> tile<T, Shape...> {name}(const tile<T, Shape...> &x, location where = location::current()) {{
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "{name} takes tiles of float or double: convert with cast<float>(x).");
  detail::site s(where);
  return s.call<tile<T, Shape...>>("{path}", {{{{"x", s(x)}}}});
}}"""


def arithmetic(table, path, op):
    return f"""{comment(table, path)} Without a check for overflow in debug mode, if `sanitize_overflow` is false.
template <detail::operand X, detail::operand Y>
  requires(detail::any_tile<X> || detail::any_tile<Y>)
auto {path}(const X &x, const Y &y, bool sanitize_overflow = true, location where = location::current()) {{
  detail::site s(where);
  return s.call<detail::result_of<{op}, X, Y>>(
      "{path}", {{{{"x", s.with<Y>(x)}}, {{"y", s.with<X>(y)}}, {{"sanitize_overflow", sanitize_overflow ? detail::absent : s(false)}}}});
}}"""


def hint(table, path):
    return f"""{comment(table, path)}
template <int... Values, typename X> X {path}(const X &input, location where = location::current()) {{
  detail::check_tile<X>();
  static_assert(sizeof...(Values) == 1 || sizeof...(Values) == X::rank, "{path} takes one value, or one for each dimension.");
  detail::site s(where);
  return s.call<X>("{path}", {{{{"input", s(input)}}, {{"values", s(detail::constants<detail::dims_of<Values...>()>())}}}});
}}"""


def atomic(table, path):
    return f"""{comment(table, path)}
template <typename P, detail::operand V, typename M = none_t>
  requires detail::any_tile<P>
auto {path}(const P &pointer, const V &val, const M &mask = {{}}, const atomic_options &options = {{}},
{' ' * (6 + len(path))}location where = location::current()) {{
  detail::check_atomic<P, V, M>();
  detail::site s(where);
  return s.call<detail::tile_of<pointee_of<P>, detail::operand_info<P>::shape>>("{path}", {{{{"pointer", s(pointer)}},
      {{"val", s(val)}}, {{"mask", s(mask)}}, {{"sem", s(options.sem)}}, {{"scope", s(options.scope)}}}});
}}"""


def descriptor_atomic(table, name):
    return f"""{comment(table, 'tensor_descriptor.' + name)}
template <typename T, int... Shape, typename... Offset>
void {name}(const tensor_descriptor<T, Shape...> &desc, const offsets<Offset...> &offset, const tile<T, Shape...> &value,
{' ' * (6 + len(name))}location where = location::current()) {{
  detail::check_rank<sizeof...(Shape), sizeof...(Offset)>();
  detail::site s(where);
  s.run("tensor_descriptor.{name}", {{{{nullptr, s(desc)}}, {{"offsets", s(offset)}}, {{"value", s(value)}}}});
}}"""


def target_question(table, name):
    return f"""{comment(table, 'target_info.' + name)} Known when the kernel is compiled: a branch on it is chosen then.
inline i1 {name}(location where = location::current()) {{
  detail::site s(where);
  return s.question("target_info.{name}", {{}});
}}"""


PROLOGUE = """// {title}
//
// Generated by tools/cpp_language.py from {source}. Do not edit.
#pragma once

{includes}

namespace tilewright {{
"""


def generated():
    table = builtins()
    parts = [PROLOGUE.format(title="Builtins of kernels in C++ whose result has the type of their arguments.",
                             source="src/evaluate/builtins.def",
                             includes='#include "tilewright/language/descriptor.h"\n#include "tilewright/language/shape.h"')]
    parts += [float_function(table, path) for path in FLOAT_FUNCTIONS]
    parts += [arithmetic(table, path, op) for path, op in ARITHMETIC.items()]
    parts += [hint(table, path) for path in HINTS]
    parts += [atomic(table, path) for path in ATOMICS]
    parts += [descriptor_atomic(table, name) for name in DESCRIPTOR_ATOMICS]
    parts.append("namespace target_info {")
    parts += [target_question(table, name) for name in TARGET_QUESTIONS]
    parts.append("} // namespace target_info\n")
    parts.append("namespace math {\n// The names of triton.language.math.")
    names = sorted(path[5:] for path in table if path.startswith("math."))
    parts += [f"using tilewright::{name};" for name in names]
    parts.append("} // namespace math\n\n} // namespace tilewright")
    return "\n".join(parts) + "\n"


TYPES = {"f": "float", "d": "double", "i": "int32_t", "l": "int64_t", "u": "uint32_t", "v": "uint64_t", "b": "bool"}


MACROS = """/// One overload of a function: of tiles of these element types, which have one shape.
#define TILEWRIGHT_LIBDEVICE_1(name, result, a) \\
  template <int... Shape> auto name(const tile<a, Shape...> &x, location where = location::current()) { \\
    detail::site s(where); \\
    return s.call<tile<result, Shape...>>("extra.libdevice." #name, {{nullptr, s(x)}}); \\
  }
#define TILEWRIGHT_LIBDEVICE_2(name, result, a, b) \\
  template <int... Shape> \\
  auto name(const tile<a, Shape...> &x, const tile<b, Shape...> &y, location where = location::current()) { \\
    detail::site s(where); \\
    return s.call<tile<result, Shape...>>("extra.libdevice." #name, {{nullptr, s(x)}, {nullptr, s(y)}}); \\
  }
#define TILEWRIGHT_LIBDEVICE_3(name, result, a, b, c) \\
  template <int... Shape> \\
  auto name(const tile<a, Shape...> &x, const tile<b, Shape...> &y, const tile<c, Shape...> &z, location where = location::current()) { \\
    detail::site s(where); \\
    return s.call<tile<result, Shape...>>("extra.libdevice." #name, {{nullptr, s(x)}, {nullptr, s(y)}, {nullptr, s(z)}}); \\
  }
#define TILEWRIGHT_LIBDEVICE_4(name, result, a, b, c, d) \\
  template <int... Shape> \\
  auto name(const tile<a, Shape...> &x, const tile<b, Shape...> &y, const tile<c, Shape...> &z, const tile<d, Shape...> &w, location where = location::current()) { \\
    detail::site s(where); \\
    return s.call<tile<result, Shape...>>("extra.libdevice." #name, {{nullptr, s(x)}, {nullptr, s(y)}, {nullptr, s(z)}, {nullptr, s(w)}}); \\
  }
"""


def libdevice():
    pattern = re.compile(r'^LIBDEVICE\("([^"]*)", "(.)", "([^"]*)"', re.M)
    parts = [PROLOGUE.format(title="The functions of libdevice for kernels in C++, on every target.", source="src/evaluate/libdevice.def",
                             includes='#include "tilewright/language/shape.h"'), "namespace libdevice {\n", MACROS]
    for name, result, types in pattern.findall((TABLES / "libdevice.def").read_text()):
        given = ", ".join([name, *(TYPES[t] for t in (result, *types))])
        parts.append(f"TILEWRIGHT_LIBDEVICE_{len(types)}({given})")
    parts += [f"#undef TILEWRIGHT_LIBDEVICE_{count}" for count in (1, 2, 3, 4)]
    parts.append("\n} // namespace libdevice\n} // namespace tilewright")
    return "\n".join(parts) + "\n"


def formatted(text):
    import subprocess
    return subprocess.run(["clang-format-22", "--assume-filename", str(HEADERS / "x.h")], input=text, capture_output=True, text=True,
                          check=True).stdout


def calls():
    """The calls of builtins in the headers: path -> names of the arguments that some call passes."""
    found = {}
    pattern = re.compile(r'"([A-Za-z_][\w.]*)",\s*\{\s*(\{(?:[^{}]|\{[^{}]*\})*\}(?:,\s*\{(?:[^{}]|\{[^{}]*\})*\})*|)\s*\}')
    for header in sorted(HEADERS.glob("*.h")):
        text = header.read_text()
        for path, arguments in pattern.findall(text):
            found.setdefault(path, set()).update(re.findall(r'\{"(\w+)",', arguments))
        for path in re.findall(r'(?:call|run|tuple|question|record|record_void|reduce_named|scan_named|random\w*|extremum|index_of|with_indices|permute_to<[^>]*>\(?\)?>?)[^"\n]*\("([\w.]+)"', text):
            found.setdefault(path, set())
    return found


def problems():
    table, found, result = builtins(), calls(), []
    for path, names in found.items():
        if path in table:
            unknown = names - set(parameters(table[path][0]))
            result += [f"a header passes '{name}' to {path}, whose signature is {table[path][0]}" for name in sorted(unknown)]
    for path in table:
        short = path[5:] if path.startswith("math.") else path
        if path not in found and short not in found and path not in NOT_IN_CPP:
            result.append(f"no header calls the builtin {path}: add it, or give the reason in NOT_IN_CPP")
    result += [f"NOT_IN_CPP names {path}, which is not a builtin" for path in NOT_IN_CPP if path not in table]
    result += [f"NOT_IN_CPP names {path}, which a header calls" for path in NOT_IN_CPP if path in found]
    return result


def main():
    files = {HEADERS / "generated.h": formatted(generated()), HEADERS / "libdevice.h": formatted(libdevice())}
    if "--check" not in sys.argv[1:]:
        for path, text in files.items():
            path.write_text(text)
        return 0
    bad = [f"{path.relative_to(ROOT)} is not up to date: run tools/cpp_language.py" for path, text in files.items()
           if not path.exists() or path.read_text() != text]
    bad += problems()
    print("\n".join(bad) or "the builtins of C++ agree with the tables")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
