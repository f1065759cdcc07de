"""Writes the software bill of materials of a wheel (CycloneDX, JSON) and the licenses of what is linked in.

    tools/sbom.py --version 0.2.0 --llvm 22.1.8 --out FOLDER LIST...

A LIST is what lld writes with --why-extract: one line for each member of an archive that it linked. The archives belong to Debian packages, which
have the versions and the licenses. nanobind, the part of the extension that is not ours, is a package of this Python. The results:

    FOLDER/sboms/tilewright.cdx.json
    FOLDER/licenses/third_party/NAME.txt
"""

import argparse
import collections
import importlib.metadata
import json
import os
import pathlib
import re
import subprocess
import sys
import uuid

# A name, the names of its archives, its license in SPDX's terms, and what it is.
LINKED = [
    ("MLIR", r"libMLIR.*", "Apache-2.0 WITH LLVM-exception", "Multi-level intermediate representation"),
    ("LLVM", r"libLLVM.*", "Apache-2.0 WITH LLVM-exception", "Optimizer and code generators for x86-64, AArch64 and NVPTX"),
    ("LLD", r"liblld.*", "Apache-2.0 WITH LLVM-exception", "Linker of ELF files"),
    ("zlib", r"libz", "Zlib", "Compression"),
    ("zstd", r"libzstd", "BSD-3-Clause", "Compression"),
    ("glibc", r"libc_nonshared", "LGPL-2.1-or-later", "The part of the C library that every shared library has, with an exception for linking"),
    ("libgcc", r"libgcc(_eh)?", "GPL-3.0-or-later WITH GCC-exception-3.1", "Support functions of the compiler"),
    ("nanobind", r"libnanobind.*", "BSD-3-Clause", "Bindings of C++ to Python"),
]
# Sources by other authors inside LLVM's libLLVMSupport; their notices are in LLVM's license file or public domain.
INSIDE_LLVM = [
    ("blake3", "BLAKE3", "CC0-1.0 OR Apache-2.0 WITH LLVM-exception", r"blake3"),
    ("openbsd-regex", "Henry Spencer's regular expressions", "BSD-3-Clause", r"reg(comp|exec|error|free|strlcpy)"),
    ("md5", "Alexander Peslyak's MD5", "LicenseRef-solar-public-domain", r"MD5\.cpp"),
    ("xxhash", "xxHash", "BSD-2-Clause", r"xxhash\.cpp"),
    ("siphash", "SipHash", "CC0-1.0 OR MIT OR Apache-2.0 WITH LLVM-exception", r"SipHash\.cpp"),
]


def members(lists):
    """The linked members by archive: {path: {"a.o", ...}}."""
    found = collections.defaultdict(set)
    for path in lists:
        for line in path.read_text().splitlines()[1:]:
            match = re.fullmatch(r"(.*\.a)\((.*)\)", line.split("\t")[1])
            if match:
                found[os.path.realpath(match[1])].add(match[2])
    return found


def output_of(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def sysroot_of(archive):
    """The sysroot of tools/arm_sysroot.sh that a file is in, or None."""
    return next((folder for folder in pathlib.Path(archive).parents if (folder / ".archives").is_file()), None)


def debian_package(archive):
    """(name, version) of the package that brings this file; None where dpkg knows of none."""
    if sysroot := sysroot_of(archive):
        rows = (line.split() for line in (sysroot / ".archives").read_text().splitlines())
        return next(((name, version) for path, name, version in rows if os.path.realpath(sysroot / path) == archive), None)
    for path in (archive, archive.removeprefix("/usr")):
        name = output_of("dpkg-query", "-S", path).partition(":")[0].splitlines()
        if name:
            return name[0], output_of("dpkg-query", "-W", "-f=${Version}\n", name[0]).splitlines()[0]
    return None


def from_debian(archives, llvm):
    """purl, version and the file of the license of one component."""
    package = debian_package(sorted(archives)[0])
    if not package:
        return None, llvm, None
    name, full = package
    version = re.sub(r"^\d+:", "", re.sub(r"-[^-]*$|[+.]dfsg.*", "", full))  # that of the authors: 1.2.13 of 1:1.2.13.dfsg-1
    sysroot = sysroot_of(sorted(archives)[0])
    purl = f"pkg:deb/debian/{name}@{full.replace(':', '%3A').replace('+', '%2B')}?arch={'arm64' if sysroot else 'amd64'}"
    return purl, version, (sysroot or pathlib.Path("/")) / "usr/share/doc" / name / "copyright"


def from_python(name):
    package = importlib.metadata.distribution(name)
    license_file = next((pathlib.Path(package.locate_file(file)) for file in package.files if file.name.startswith("LICENSE")), None)
    return f"pkg:pypi/{name}@{package.version}", package.version, license_file


def robin_map():
    """nanobind's copy of a hash table: only headers, with the license at the top."""
    import nanobind
    text = next(pathlib.Path(nanobind.__file__).parent.rglob("robin_map.h")).read_text()
    return text[: text.index("*/") + 2] + "\n"


def component(name, license, description, purl=None, version=None):
    entry = {"type": "library", "bom-ref": purl or name, "name": name}
    if version:
        entry["version"] = version
    entry |= {"description": description, "licenses": [{"expression": license}]}
    return entry | ({"purl": purl} if purl else {})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", required=True)
    parser.add_argument("--llvm", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("lists", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    found = members(options.lists)
    unknown = [path for path in found if not any(re.fullmatch(row[1], pathlib.Path(path).stem) for row in LINKED) and "tilewright" not in path]
    if unknown:
        sys.exit(f"sbom: no row of the table LINKED describes {', '.join(unknown)}")

    components, texts = [], {}
    for name, pattern, license, description in LINKED:
        archives = [path for path in found if re.fullmatch(pattern, pathlib.Path(path).stem)]
        if name != "nanobind" and not archives:
            continue
        purl, version, text = from_python(name) if name == "nanobind" else from_debian(archives, options.llvm)
        entry = component(name, license, description, purl, version)
        if archives and name != "nanobind":
            entry["properties"] = [{"name": "tilewright:linked-archives", "value": " ".join(sorted(pathlib.Path(path).stem for path in archives))}]
        if name == "LLVM":
            support = " ".join(member for path, names in found.items() if path.endswith("libLLVMSupport.a") for member in names)
            inside = [component(short, spdx, title) for short, title, spdx, files in INSIDE_LLVM if re.search(files, support)]
            entry["components"] = inside
        components.append(entry)
        if text and text.is_file():
            texts[name] = text.read_text()
        else:
            print(f"sbom: no license file of {name}: its text is missing in the wheel", file=sys.stderr)
    components.append(component("robin-map", "MIT", "Hash table, inside nanobind"))
    texts["robin-map"] = robin_map()

    own = {"type": "library", "bom-ref": "tilewright", "name": "tilewright", "version": options.version, "licenses": [{"license": {"id": "Apache-2.0"}}],
           "purl": f"pkg:pypi/tilewright@{options.version}"}
    bill = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
            "metadata": {"lifecycles": [{"phase": "build"}], "component": own}, "components": components,
            "dependencies": [{"ref": "tilewright", "dependsOn": [entry["bom-ref"] for entry in components]}]}
    bill = {**bill, "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bill))}"}  # the same input has the same number
    for folder in ("sboms", "licenses/third_party"):
        (options.out / folder).mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (options.out / "licenses/third_party" / f"{name}.txt").write_text(text)
    (options.out / "sboms/tilewright.cdx.json").write_text(json.dumps(bill, indent=1) + "\n")


if __name__ == "__main__":
    main()
