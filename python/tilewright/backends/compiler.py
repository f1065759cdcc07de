"""What kernels are compiled for."""

from dataclasses import dataclass
from typing import Union


@dataclass(frozen=True)
class GPUTarget:
    """A machine: "cpu", whose `arch` is the vector level ("avx2") and whose `warp_size` is 1, or "cuda" with a capability (90) and 32."""

    backend: str
    arch: Union[int, str]
    warp_size: int
