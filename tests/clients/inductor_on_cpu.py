"""A pytest plugin: on a CPU, Inductor generates Triton kernels for Tilewright. With another engine it stays with its own back end in C++."""

import os


def pytest_configure():
    if os.environ["CLIENTS_DEVICE"] == "cpu" and os.environ["CLIENTS_ENGINE"] == "tilewright":
        import torch._inductor.config

        torch._inductor.config.cpu_backend = "triton"
        # PyTorch 2.11 writes text that is no Python when it measures a fused kernel on a CPU ("with pass:").
        torch._inductor.config.benchmark_epilogue_fusion = False
