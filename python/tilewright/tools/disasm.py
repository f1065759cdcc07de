"""The machine code of an NVIDIA kernel as text, by cuobjdump of the CUDA toolkit."""

import re
import subprocess
import tempfile

from .. import knobs

_INSTRUCTION = re.compile(r"\s*/\*(\w{4,})\*/\s*([^;]*?)\s*;\s*/\* 0x(\w{16}) \*/\s*")
_CONTROL = re.compile(r"\s*/\* 0x(\w{16}) \*/\s*")
_FUNCTION = re.compile(r"\s*Function : (\w+)\s*")
_BRANCH = re.compile(r"(.*\bBRA(?:\.U)? )(0x\w+)")


def path_to_cuobjdump():
    return knobs.nvidia.cuobjdump.path


def _control(word):
    """The waits, barriers and stalls of an instruction, from the second word of its encoding, as wait:read:write:yield:stall."""
    bits = int(word, 16)
    wait, read, write, stall = bits >> 52 & 0x3F, bits >> 49 & 7, bits >> 46 & 7, bits >> 41 & 0xF
    barriers = ["-" if barrier == 7 else str(barrier) for barrier in (read, write)]
    return f"{f'{wait:02d}' if wait else '--'}:{barriers[0]}:{barriers[1]}:{'-' if bits >> 45 & 1 else 'Y'}:{stall:x}"


def _functions(listing):
    """(name, [(offset, instruction, control)]) for each function of cuobjdump's listing."""
    name, found, pending = None, [], None
    for line in listing.splitlines():
        if start := _FUNCTION.match(line):
            if name is not None:
                yield name, found
            name, found, pending = start.group(1), [], None
        elif instruction := _INSTRUCTION.match(line):
            pending = int(instruction.group(1), 16), instruction.group(2)
        elif pending is not None and (word := _CONTROL.match(line)):
            found.append((*pending, _control(word.group(1))))
            pending = None
    if name is not None:
        yield name, found


def _listing(name, instructions):
    targets = sorted({int(branch.group(2), 16) for _, text, _ in instructions if (branch := _BRANCH.match(text))})
    label = {offset: f"L{number}" for number, offset in enumerate(targets)}
    lines = [f"Function:{name}"]
    for offset, text, control in instructions:
        if offset in label:
            lines.append(f"{label[offset]}:")
        text = _BRANCH.sub(lambda branch: branch.group(1) + label[int(branch.group(2), 16)], text)
        lines.append(f"{control}\t{text};")
    return "\n".join(lines) + "\n"


def extract(file_path, fun):
    """The listing of one function of a cubin, or of all functions (fun=None)."""
    command = [path_to_cuobjdump(), "-sass", file_path]
    if fun is not None:
        command[1:1] = ["-fun", fun]
    told = subprocess.check_output(command).decode()
    return "\n".join(_listing(name, instructions) for name, instructions in _functions(told))


def get_sass(cubin_asm, fun=None):
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin_asm)
        file.flush()
        return extract(file.name, fun)
