"""Compares two texts of tt IR up to names, locations and the order of operations without effects."""
import hashlib
import re

VALUE = re.compile(r"%[A-Za-z0-9_$.\-]+(?:#\d+)?")
EFFECTS = re.compile(r"tt\.(load|store|atomic|print|assert|dot_scaled|descriptor_load)|cf\.|tt\.return|scf\.(yield|condition)|tt\.\w+\.return")


class Reader:
    def __init__(self, text):
        self.lines = [line.strip() for line in text.splitlines() if line.strip()]
        self.position = 0
        self.values = {}

    def digest(self, text):
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def replaced(self, text):
        def known(match):
            name, _, index = match.group(0).partition("#")
            return "%" + self.values[name] + ("#" + index if index else "")
        return VALUE.sub(known, text)

    def define_arguments(self, names, where):
        for index, name in enumerate(names):
            self.values[name] = f"arg:{where}:{index}"

    def block(self, depth):
        """The effects of a block, up to the line that closes it, which begins with '}'."""
        effects = []
        while not self.lines[self.position].startswith("}"):
            self.operation(depth, effects)
        return effects

    def header(self, line, depth):
        """Defines the arguments that the header of an operation introduces, and returns the header without their names."""
        found = re.search(r"scf\.for (%[\w$.\-]+) =", line)
        names = [found.group(1)] if found else []
        for group in re.findall(r"iter_args\(([^)]*)\)", line) + re.findall(r"scf\.while \(([^)]*)\)", line):
            names += [part.split("=")[0].strip() for part in group.split(",")]
        initial = {name: self.values.get(name) for name in names}
        text = re.sub(r"scf\.for %[\w$.\-]+ =", "scf.for", line)
        text = re.sub(r"(%[\w$.\-]+) = (?=%)", "", text)
        replaced = self.replaced(text)
        self.define_arguments(names, depth)
        return replaced, initial

    def operation(self, depth, effects):
        line = self.lines[self.position]
        self.position += 1
        results, body = "", line
        found = re.match(r"(%[\w$.\-]+)(:\d+)? = (?!%)(.*)", line)
        if found:
            results, body = found.group(1), found.group(3)
        if body.startswith("^bb"):
            self.define_arguments(re.findall(r"(%[\w$.\-]+):", body), f"{depth}:{len(effects)}")
            return
        if not body.endswith("{"):
            text = self.replaced(body)
            if EFFECTS.match(text.lstrip('"')):
                effects.append(text)
                text = f"{len(effects)} {text}"
            if results:
                self.values[results] = self.digest(text)
            return
        text, _ = self.header(body, depth)
        regions = [self.block(depth + 1)]
        while self.lines[self.position].endswith("{"):  # } else {, } do {, }, {
            text += self.lines[self.position]
            self.position += 1
            regions.append(self.block(depth + 1))
        text += self.replaced(self.lines[self.position]) + repr(regions)
        self.position += 1
        effects.append(text)
        if results:
            self.values[results] = self.digest(f"{len(effects)} {text}")

    def module(self):
        effects = []
        self.position = 1  # module {
        while not self.lines[self.position].startswith("}"):
            line = self.lines[self.position]
            self.position += 1
            self.define_arguments(re.findall(r"(%[\w$.\-]+):", line), "function")
            effects.append(re.sub(VALUE, "%", line))
            effects += self.block(0)
            self.position += 1
        return effects


def effects_of(text):
    """The effects of the kernel in order, each with the computation of its operands. Promises of multiples of 16 are left out."""
    text = re.sub(r" \{tt\.divisibility = 16 : i32\}", "", text)
    return Reader(text).module()
