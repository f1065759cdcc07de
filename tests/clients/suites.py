"""The client suites of tests/clients/run: programs and libraries of others that use Triton, and how to get them.

A suite's files are looked for in SOURCES/NAME, where SOURCES is the folder that --sources names: a checkout, or an unpacked sdist or wheel. Suites
without `get` are programs of this folder, which need packages alone.
"""

import dataclasses
import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass
class Suite:
    name: str
    tests: list  # globs of test files, relative to the suite's folder
    get: str = ""  # a command that makes the folder NAME; "" for programs of this folder
    version: str = ""
    path: list = dataclasses.field(default_factory=lambda: ["."])  # what PYTHONPATH needs, relative to the suite's folder
    needs: str = ""  # packages of the registry, besides torch and pytest
    leave_out: list = dataclasses.field(default_factory=list)  # [(substring of a test file's name or of a test's id, reason)]
    options: list = dataclasses.field(default_factory=list)  # pytest's; {device} is replaced
    environment: dict = dataclasses.field(default_factory=dict)
    devices: tuple = ("cpu", "cuda")
    plugins: list = dataclasses.field(default_factory=list)  # of this folder
    imports: list = dataclasses.field(default_factory=list)  # modules without which the suite is not run


OTHERS = "another compiler than Triton"
SUITES = [
    Suite("liger", ["test/transformers/test_*.py", "test/triton/test_*.py"], path=["src", "."], version="0.8.2",
          get="git clone --depth 1 --branch v0.8.2 https://github.com/linkedin/Liger-Kernel liger", needs="transformers", imports=["transformers"],
          leave_out=[("cutedsl", OTHERS), ("cutile", OTHERS), ("cute_moe", OTHERS), ("test_trainer_integration", "needs TRL"),
                     ("test_auto_model", "no kernel"), ("test_monkey_patch", "no kernel"), ("test_flex_attention", "no kernel of its own")]),
    Suite("flaggems", ["tests/test_*.py"], path=["src", "."], version="532ff438", devices=("cuda",), needs="sqlalchemy scipy pyyaml", imports=["sqlalchemy", "yaml"],
          get="git clone https://github.com/FlagOpen/FlagGems flaggems && git -C flaggems checkout 532ff438", options=["--mode", "quick"]),
    Suite("fla", ["tests/ops/test_*.py", "tests/modules/test_*.py"], version="0.5.2", needs="einops transformers", plugins=["fla_cpu"], imports=["einops", "transformers"],
          get="git clone --depth 1 --branch v0.5.2 https://github.com/fla-org/flash-linear-attention fla", leave_out=[("tilelang", OTHERS)]),
    Suite("helion", ["test/test_*.py"], version="1.4.0", needs="filecheck psutil rich scikit-learn", plugins=["cuda_on_cpu", "inductor_on_cpu"], imports=["filecheck", "psutil", "rich"],
          get="git clone --depth 1 --branch v1.4.0 https://github.com/pytorch/helion helion",
          leave_out=[("test_cute", OTHERS), ("pallas", OTHERS), ("metal", OTHERS), ("tileir", OTHERS), ("test_amd", "another GPU"), ("dist", "several GPUs"),
                     ("test_llm_autotuner", "asks a language model"), ("remote_copy", "several GPUs")]),
    Suite("attorch", ["tests/test_*.py"], version="67c2772", get="git clone https://github.com/BobMcDear/attorch && git -C attorch checkout 67c2772",
          plugins=["cuda_on_cpu"], options=["--subset"]),
    Suite("torchao", ["test/prototype/blockwise_fp8_training/test_blockwise_*.py", "test/prototype/blockwise_fp8_inference/test_*.py",
                      "test/prototype/moe_training/test_kernels.py", "test/prototype/moe_training/test_fp8_grouped_mm.py",
                      "test/prototype/mx_formats/test_kernels.py", "test/prototype/mx_formats/test_mx_tensor.py",
                      "test/prototype/test_quantized_training.py", "test/hqq/test_*.py", "test/dtypes/test_bitpacking.py", "test/float8/test_base.py",
                      "test/quantization/quantize_/workflows/*/test_*_tensor.py", "test/integration/test_integration.py"],
          version="0.18.0", get="git clone --depth 1 --branch v0.18.0 https://github.com/pytorch/ao torchao", needs="parameterized", imports=["parameterized"]),
    Suite("mamba", ["tests/ops/triton/test_*.py"], version="e9594ce", needs="einops transformers", plugins=["cuda_on_cpu"], imports=["einops", "transformers"],
          get="git clone https://github.com/state-spaces/mamba && git -C mamba checkout e9594ce"),
    Suite("triton_kernels", ["tests/test_*.py"], version="3.6.0", options=["--device", "{device}"], plugins=["cuda_on_cpu"],
          get="git clone --depth 1 --branch v3.6.0 https://github.com/triton-lang/triton && mv triton/python/triton_kernels triton_kernels",
          leave_out=[("distributed", "several GPUs"), ("roofline", "no kernel")]),
    Suite("inductor", ["test/inductor/test_torchinductor.py", "test/inductor/test_torchinductor_dynamic_shapes.py", "test/inductor/test_triton_kernels.py",
                       "test/inductor/test_cpu_select_algorithm.py", "test/inductor/test_max_autotune.py", "test/inductor/test_flex_attention.py"],
          version="2.11.0", get="git clone --depth 1 --branch v2.11.0 https://github.com/pytorch/pytorch && mv pytorch inductor", path=["test/inductor", "test"],
          needs="expecttest hypothesis", imports=["expecttest"], plugins=["inductor_on_cpu"]),
    Suite("opinfo", ["test_opinfo.py"], needs="expecttest hypothesis", imports=["expecttest"], plugins=["inductor_on_cpu"]),
    Suite("transformers", ["test_transformers.py"], version="5.24.0", needs="transformers", imports=["transformers"], plugins=["inductor_on_cpu"]),
    Suite("vllm", ["test_vllm.py"], version="0.33.0", path=["."], devices=("cpu",),
          get="pip download --no-deps vllm==0.33.0 && python3 -m zipfile -e vllm-0.33.0*.whl vllm"),
]


def root_of(suite, sources):
    """The folder of a suite's test files."""
    return HERE / "programs" if not suite.get or suite.name == "vllm" else pathlib.Path(sources) / suite.name


def read_suites(path):
    """Suites of a file of JSON: a list of objects with the fields of Suite."""
    return [Suite(**fields) for fields in json.loads(pathlib.Path(path).read_text())]
