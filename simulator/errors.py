"""The errors that a user can cause, each reported in one line."""

import difflib
import re
from collections.abc import Sequence


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


MOST_NAMES, LEAST_LIKE = 12, 0.4
"""Names that a message lists; likeness (`difflib`) of those that it proposes where there are more."""


def meant(name: str, known: Sequence[str], listed_by: str = "") -> str:
    """The end of a message on an unknown name: what was likely meant, or what there is.

    Parameters
    ----------
    listed_by : where all are listed, if they are more than a line holds.
    """
    close = difflib.get_close_matches(name, known, 1)
    if close:
        return f"did you mean {close[0]!r}?"
    if len(known) <= MOST_NAMES or not listed_by:
        return f"expected one of {', '.join(known)}"
    near = difflib.get_close_matches(name, known, 3, LEAST_LIKE)
    nearest = f"; nearest are {', '.join(near)}" if near else ""
    return f"expected one of the {len(known)} {listed_by}{nearest}"


def shortened(text: str) -> str:
    """A message of readable length, whatever it cites."""
    text = re.sub(rf"\S{{{LONGEST_WORD + 1},}}", lambda word: _ends(word[0], LONGEST_WORD), text)
    return _ends(text, LONGEST)


def _ends(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest // 2]}..{text[-longest // 3 :]}"


def _one_line(text: str) -> str:
    return shortened(text.replace("\r", "\\r").replace("\n", "\\n"))
