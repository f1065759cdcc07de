"""A pytest plugin: flash-linear-attention on a CPU. It takes a CPU for a machine without Triton; here it is a device like others."""

import importlib.machinery
import os
import sys


class Loader(importlib.machinery.SourceFileLoader):
    def get_data(self, path):
        return super().get_data(path).replace(b"if device == 'cpu':", b"if False:")


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path, target) if name == "fla.utils._device" else None
        if spec:
            spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


if os.environ["CLIENTS_DEVICE"] == "cpu":
    import torch

    sys.meta_path.insert(0, Finder)
    torch.cpu.manual_seed = torch.manual_seed  # which PyTorch does not have; fla calls it on its device's module
