"""A kernel's tt IR as objects with upstream's methods, for programs that walk over its operations: torch.compile learns in this way to which
arguments a kernel writes."""


class Value:
    def __init__(self, module, number):
        self._module, self._number = module, number

    def id(self):
        return self._number

    def get_shape(self):
        return self._module.shapes[self._number]


class Region:
    def __init__(self, number):
        self._number = number

    def id(self):
        return self._number


class Block:
    def __init__(self, module, number):
        self._module, self._number = module, number
        self._region, self._arguments = module.blocks[number]

    def id(self):
        return self._number

    def get_parent(self):
        return None if self._region is None else Region(self._region)

    def get_num_arguments(self):
        return len(self._arguments)

    def get_argument(self, index):
        return Value(self._module, self._arguments[index])


class Operation:
    def __init__(self, module, row):
        self._module = module
        self._name, self._operands, self._results, self._regions, self._block, self._attributes = row

    def get_name(self):
        return self._name

    def get_num_operands(self):
        return len(self._operands)

    def get_operand(self, index):
        return Value(self._module, self._operands[index])

    def get_num_results(self):
        return len(self._results)

    def get_result(self, index):
        return Value(self._module, self._results[index])

    def get_num_regions(self):
        return len(self._regions)

    def get_region(self, index):
        return Region(self._regions[index])

    def get_block(self):
        """The block that contains the operation; None for a module."""
        return None if self._block is None else Block(self._module, self._block)

    def _attribute(self, name, kind):
        value = self._attributes.get(name)
        return value if type(value) is kind else None

    def get_str_attr(self, name):
        return self._attribute(name, str)

    get_flat_symbol_ref_attr = get_str_attr

    def get_bool_attr(self, name):
        return self._attribute(name, bool)

    def get_int_attr(self, name):
        return self._attribute(name, int)

    def get_constant_value(self):
        """The number of an arith.constant, or the number that fills its tile; None for other operations."""
        return self._attributes.get("value")


class Module:
    def __init__(self, text, operations, blocks, shapes):
        self._text, self._operations = text, operations
        self.blocks, self.shapes = blocks, shapes

    def __str__(self):
        return self._text

    def verify(self):
        """Always True, because the compiler has verified the operation."""
        return True

    def walk(self, visit):
        """Calls visit(operation) for each operation; those in an operation's regions come before it."""
        for row in self._operations:
            visit(Operation(self, row))
