"""The errors that a user can cause, each reported in one line."""


class InputError(ValueError):
    """Something that the user gave is wrong.

    The message is one line that names the file, row, field, value and what was expected;
    the command line prints it and exits with code 2. It stays one line of readable length
    whatever is in the file that it cites.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(_one_line(message))


class InfeasibleDecision(RuntimeError):
    """A policy answered with a decision that the cluster cannot carry out.

    The message names the policy, the time, the node and the resource.
    """


LONGEST = 1500
"""Characters of a message; of a longer one, beginning and end are kept."""


def _one_line(text: str) -> str:
    text = text.replace("\r", "\\r").replace("\n", "\\n")
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST // 2]} .. {text[-LONGEST // 3 :]}"
