"""Activities of a program that are independent of its scopes: work that is done in a state is listed below the state's name, inside its scopes."""

import functools

from . import session as sessions

COMPUTE_METADATA_SCOPE_NAME = "__proton_launch_metadata"
COMPUTE_METADATA_SCOPE_PREFIX = COMPUTE_METADATA_SCOPE_NAME + ":"


class state:
    """`with state("prefill"):`, or a decorator."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        enter_state(self.name)
        return self

    def __exit__(self, *exception):
        exit_state()

    def __call__(self, function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with type(self)(self.name):
                return function(*args, **kwargs)

        return wrapper


def get_metadata_state_name(kernel_name=None):
    return COMPUTE_METADATA_SCOPE_PREFIX + kernel_name if kernel_name else COMPUTE_METADATA_SCOPE_NAME


class metadata_state(state):
    """The state around work that a profile does for itself."""

    def __init__(self, kernel_name=None):
        self.name = get_metadata_state_name(kernel_name)

    def __call__(self, function):
        return state(self.name)(function)


def enter_state(name):
    sessions.states().append(name)


def exit_state():
    if not sessions.states():
        raise RuntimeError("there is no state to leave")
    sessions.states().pop()
