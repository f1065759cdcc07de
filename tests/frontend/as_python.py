# Evaluation at compile time gives Python's results: each line has a Python expression and its value in CPython.
# RUN: tilewright compile %s --kernel k --signature '*fp32' -o %t.o
# RUN: not tilewright compile %s --kernel bad_base --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=BASE
# RUN: not tilewright compile %s --kernel bad_chr --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=CHR
# RUN: not tilewright compile %s --kernel bad_upper --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=UPPER
# RUN: not tilewright compile %s --kernel bad_sort --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=SORT
# RUN: not tilewright compile %s --kernel bad_dict --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=DICT
import triton
import triton.language as tl


def grown():
    seen, items = [], [1, 2, 3]
    for item in items:
        seen.append(item)
        if item < 3:
            items.append(item + 10)
    return seen


def shrunk():
    seen, items = [], [1, 2, 3, 4]
    for item in items:
        seen.append(item)
        items.remove(item)
    return seen


def many_keys():
    counts = {}
    for i in range(20000):
        counts[i % 7000] = counts.get(i % 7000, 0) + 1
    counts.pop(6999)
    return len(counts), counts[0], counts[6998], 6999 in counts, len({i % 5000 for i in range(20000)})


CHECKS = [
    (len("é"), 1), ("aé"[1], "é"), ([c for c in "né"], ["n", "é"]), (ord("é"), 233), (chr(233), "é"), (chr(128512), "😀"), (f"{'é':>3}", "  é"),
    (pow(2, 10, 7), 2), (pow(-3, 3, 7), 1), (pow(3, 4, -5), -4), (pow(2, 0, 1), 0),
    (round(1250, -2), 1200), (round(1350, -2), 1400), (round(-1251, -2), -1300), (round(1250.5, -2), 1300.0), (round(7, -3), 0),
    (int("12", 8), 10), (int("0x1F", 16), 31), (int("0b101", 0), 5), (int(" -1_000 "), -1000), (int("z", 36), 35),
    ("a,b,c".split(",", -100000000000), ["a", "b", "c"]), ("a,b,c".split(",", 1), ["a", "b,c"]),
    (grown(), [1, 2, 3, 11, 12]), (shrunk(), [1, 3]), (many_keys(), (6999, 3, 2, False, 5000)),
    (sorted([3, 1, 2], reverse=True), [3, 2, 1]), (sorted(["b", "a", "C"], key=lambda s: s.lower()), ["a", "b", "C"]),
    (sorted(["bb", "a", "dd", "c", "aa", "e", "cc"], key=len), ["a", "c", "e", "bb", "dd", "aa", "cc"]),  # equal ones keep their order,
    (sorted(["bb", "a", "dd", "c", "aa"], key=len, reverse=True), ["bb", "dd", "aa", "a", "c"]),  # backwards as well
    (sorted([(i * 37) % 101 for i in range(101)]), [i for i in range(101)]), (sorted([]), []), (len(sorted([float("nan"), 2.0, float("nan"), 1.0])), 4),
]
WRONG = tl.constexpr([result for result, expected in CHECKS if result != expected])


@triton.jit
def k(x_ptr):
    tl.static_assert(len(WRONG) == 0, f"otherwise than in Python: {WRONG}")
    tl.store(x_ptr, 1.0)


# BASE: :[[#@LINE+1]]:{{.*}} error: the base of int() is 0 or from 2 to 36
BASE = tl.constexpr(lambda: int("12", 37))
# CHR: :[[#@LINE+1]]:{{.*}} error: chr() takes a number from 0 to 1114111
CHR = tl.constexpr(lambda: chr(1114112))
# UPPER: :[[#@LINE+1]]:{{.*}} error: upper() of text that is not ASCII is not supported at compile time
UPPER = tl.constexpr(lambda: "é".upper())


def changed_by_its_key():
    items = [3, 1, 2] * 50
    # SORT: :[[#@LINE+1]]:{{.*}} error: the list is changed while it is sorted
    items.sort(key=lambda x: items.extend([7] * 1000) or x)
    return items[0]


def changed_by_its_loop():
    items = {1: 2}
    # DICT: :[[#@LINE+1]]:{{.*}} error: a dict changed its size while it was iterated over
    for key in items:
        items[key + 1] = key
    return items


@triton.jit
def bad_base(x_ptr):
    tl.store(x_ptr, BASE())


@triton.jit
def bad_chr(x_ptr):
    tl.store(x_ptr, CHR())


@triton.jit
def bad_upper(x_ptr):
    tl.store(x_ptr, UPPER())


@triton.jit
def bad_sort(x_ptr):
    tl.store(x_ptr, changed_by_its_key())


@triton.jit
def bad_dict(x_ptr):
    tl.store(x_ptr, changed_by_its_loop())
