"""A refusal of bad input, as every part gives it."""

from __future__ import annotations

import re

import pytest

from simulator import InputError


def input_error(*texts: object) -> pytest.RaisesExc[InputError]:
    """An `InputError` with these texts, one after the other."""
    return pytest.raises(InputError, match=".*".join(re.escape(str(text)) for text in texts))
