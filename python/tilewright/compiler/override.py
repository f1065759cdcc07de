"""A file in the place of what a kernel is compiled to: TRITON_KERNEL_OVERRIDE, with the folders that TRITON_KERNEL_DUMP writes."""

from pathlib import Path

from .. import knobs
from .sources import ASTSource


def replacement(fn, handle):
    """The .ttir or .ptx file that a launch of `fn` compiles instead, or None; asked where the setting is on. PTX is for GPUs alone, and nothing behind it is left."""
    folder = Path(knobs.cache.override_dir) / ASTSource.of_handle(fn, handle).hash()
    for stage in ("ttir",) if handle.options["backend_name"] == "cpu" else ("ptx", "ttir"):
        for path in sorted(folder.glob(f"*.{stage}")):
            return str(path)
    return None
