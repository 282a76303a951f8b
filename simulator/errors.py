"""The errors that a user can cause, each told in one line."""


class InputError(ValueError):
    """Something that the user gave is wrong.

    The message is one line that names the file, row, field, value and what was expected;
    the command line prints it and exits with code 2.
    """


class InfeasibleDecision(RuntimeError):
    """A policy answered with a decision that the cluster cannot carry out.

    The message names the policy, the time, the node and the resource.
    """
