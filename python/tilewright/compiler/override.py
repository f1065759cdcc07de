"""Replaces a stage of a kernel's compilation by a file: TRITON_KERNEL_OVERRIDE, with folders like those that TRITON_KERNEL_DUMP writes."""

from pathlib import Path

from .. import knobs
from .sources import ASTSource


def replacement(fn, handle):
    """The path of the .ttir or .ptx file that a launch of `fn` compiles instead, or None. Called only if the setting is on. PTX is only for GPUs."""
    folder = Path(knobs.cache.override_dir) / ASTSource.of_handle(fn, handle).hash()
    for stage in ("ttir",) if handle.options["backend_name"] == "cpu" else ("ptx", "ttir"):
        for path in sorted(folder.glob(f"*.{stage}")):
            return str(path)
    return None
