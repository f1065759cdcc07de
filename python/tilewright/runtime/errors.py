"""The errors that can occur after compilation."""

from .._errors import AutotunerError, InterpreterError, OptionError, OutOfResources, PTXASError

__all__ = ["AutotunerError", "InterpreterError", "OptionError", "OutOfResources", "PTXASError"]
