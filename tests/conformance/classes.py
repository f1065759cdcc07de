"""Why a test of upstream's does not pass, told by what it says: the first row whose expression is found in the message."""

import re

# (expression, class, reason)
CLASSES = [
    (r"no end after.*(?s:.)*(match|maximum difference)", "time", "its checks passed; its benchmark, made for a GPU, did not end within the limit"),
    (r"no end after", "time", "the test did not end within the limit"),
    (r"the process ended", "crash", "the process ended"),
    (r"NVIDIA driver|CUDA is not available|Torch not compiled with CUDA|CUDA_HOME|no CUDA|cuda.*not available|NVIDIA GPU|Unknown device.*cuda|"
     r"'torch.cpu' has no attribute|unknown backend", "needs a GPU", "the test names a CUDA device, or what PyTorch has for those alone"),
    (r"AMD|HIP|gfx\d|there is no GPU target 'gfx", "another vendor", "for AMD's GPUs"),
    (r"sm_1\d\d|Blackwell|tcgen05|there is no GPU target", "newer card", "for a GPU that has no code path of its own here"),
    (r"libtriton|triton\._C|has no attribute '_C'", "upstream's internals", "imports upstream's C++ by its Python names"),
    (r"dot_scaled is not supported", "language", "tl.dot_scaled"),
    (r"libdevice|__nv_|not supported by the .* back end", "language", "functions of libdevice that are missing, or their types"),
    (r"is not supported|are not supported|not supported yet", "language", "refused by name"),
    (r"Not equal to tolerance|not close|Tensor-likes are not|Scalars are not|Arrays are not equal|Mismatched elements|do not match upto", "WRONG NUMBER", "another result than upstream's"),
    (r"DID NOT RAISE|DID NOT WARN|should not be allowed", "accepted", "upstream refuses it, we take it (docs/language.md)"),
    (r"Regex pattern did not match|Expected regex|regex|Pattern .* does not match|in str\(|in repr\(", "wording", "refused, in other words than upstream's"),
    (r"FileCheck|filecheck|CHECK", "text of IR", "checks upstream's own intermediate text"),
    (r"ptx|sass|cubin|ttgir|ttcir|llir|\btt\.|arith\.|llvm\.|module \{", "text of IR", "asserts the spelling of intermediate or machine code"),
    (r"ImportError|ModuleNotFoundError|cannot import name|No module named", "host interface", "a module or name that is missing"),
    (r"AttributeError|has no attribute", "host interface", "an attribute that is missing"),
    (r"TypeError.*(unexpected keyword|takes|argument)", "host interface", "a call that is taken otherwise"),
    (r"error: ", "language", "refused by the compiler, other"),
    (r"AssertionError|assert ", "behaviour", "an assertion of the test's, other"),
]


# What a machine without a GPU, or with the newest of the cards that are supported, cannot run.
ELSEWHERE = {"needs a GPU", "another vendor", "newer card"}


def classify(outcome, message):
    """(class, reason) of what did not pass."""
    for expression, kind, reason in CLASSES:
        if re.search(expression, message):
            return kind, reason
    return "other", "not classified"
