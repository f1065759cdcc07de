"""Prints what the tree and a build weigh: lines per folder, and the bytes of what is installed.

    tools/size.py [BUILD]      BUILD is a build folder such as build/release
"""

import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
SOURCES = (".cpp", ".h", ".td", ".def", ".py", ".c", ".mlir", ".sh")


def lines_per_folder():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, capture_output=True, text=True, check=True)
    folders, largest = {}, (0, "")
    for name in listed.stdout.split("\n"):
        path = root / name
        if path.suffix not in SOURCES or not path.is_file():
            continue
        count = path.read_bytes().count(b"\n")
        parts = pathlib.PurePath(name).parts
        folder = "/".join(parts[:2] if parts[0] in ("src", "tests") and len(parts) > 2 else parts[:1])
        folders[folder] = folders.get(folder, 0) + count
        largest = max(largest, (count, name))
    return folders, largest


def artifacts(build):
    wanted = [build / "bin" / "tilewright", *sorted(build.rglob("libtilewright*.so*")), *sorted((build / "python").rglob("*.so"))]
    return [path for path in wanted if path.is_file() and not path.is_symlink()]


def main():
    folders, (count, name) = lines_per_folder()
    for folder, total in sorted(folders.items()):
        print(f"{folder:<18} {total:>7,} lines")
    print(f"largest file: {name} {count:,}")
    for argument in sys.argv[1:]:
        for path in artifacts(pathlib.Path(argument)):
            print(f"{str(path):<48} {path.stat().st_size / 1e6:>7.1f} MB")


if __name__ == "__main__":
    main()
