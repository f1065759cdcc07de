"""What kernels are compiled for."""

from dataclasses import dataclass
from typing import Union


@dataclass(frozen=True)
class GPUTarget:
    """A machine: "cpu" here, whose `arch` is the vector level ("avx2") and whose `warp_size` is 1."""

    backend: str
    arch: Union[int, str]
    warp_size: int
