# Written by tools/stubs.py from the tables of builtins: edit those.
from typing import Any

class GPUTarget:
    """A machine: "cpu", whose `arch` is the vector level ("avx2") and whose `warp_size` is 1, or "cuda" with a capability (90) and 32."""
    backend: str
    arch: int | str
    warp_size: int
    def __init__(self, backend: str, arch: int | str, warp_size: int) -> None: ...

def __getattr__(name: str) -> Any: ...
