# The tests that run tools on text: `lit tests -Dbin=BUILD/bin`. Each test's RUN lines tell what it does.
import os
import shutil

import lit.formats

config.name = "tilewright"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".py", ".test"]
config.excludes = ["lit.cfg.py", "conftest.py", "CMakeLists.txt", "Inputs", "python", "run", "fuzz", "device", "unit", "conformance", "clients", "wheel"]
config.test_source_root = os.path.dirname(__file__)

root = os.path.dirname(config.test_source_root)
tools = lit_config.params.get("bin") or os.environ.get("TILEWRIGHT_BIN") or os.path.join(root, "build", "bin")
config.test_exec_root = os.path.join(os.path.dirname(os.path.abspath(tools)), "tests")
config.environment["PATH"] = os.pathsep.join([os.path.abspath(tools), "/usr/lib/llvm-22/bin", os.environ["PATH"]])
package = os.path.join(os.path.dirname(os.path.abspath(tools)), "python", "tilewright")
if os.path.isdir(package) and any(name.startswith("_core.") for name in os.listdir(package)):
    config.available_features.add("python-package")  # builds with sanitizers have none
if shutil.which("qemu-aarch64") and shutil.which("aarch64-linux-gnu-g++"):
    config.available_features.add("arm")
if os.path.exists(os.path.join(tools, "example_service")):
    config.available_features.add("http-library")
config.environment["TILEWRIGHT_VERIFY_BARRIERS"] = "1"
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --dump-input-filter=error"
config.substitutions.append(("%{bin}", os.path.abspath(tools)))
