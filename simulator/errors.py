"""The errors that a user can cause, each reported in one line."""

import re


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


LONGEST, LONGEST_WORD = 1000, 300
"""Characters of a message, and of a word in it (a path); of longer ones, beginning and end are kept."""


def shortened(text: str) -> str:
    """A message of readable length, whatever it cites."""
    text = re.sub(rf"\S{{{LONGEST_WORD + 1},}}", lambda word: _ends(word[0], LONGEST_WORD), text)
    return _ends(text, LONGEST)


def _ends(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest // 2]}..{text[-longest // 3 :]}"


def _one_line(text: str) -> str:
    return shortened(text.replace("\r", "\\r").replace("\n", "\\n"))
