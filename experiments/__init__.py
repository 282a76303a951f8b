"""Everything that is asked of the laboratory; see docs/architecture.md for the packages.

from experiments import compare
compare("scenario.toml", ["fifo", "srpt"])
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from experiments.analysis.compare import compare
    from experiments.analysis.comparison import Comparison

# Pydantic would load plug-ins of any installed package, and fail where one has malformed metadata.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

__all__ = ["Comparison", "compare"]

_HOMES = {
    "Comparison": "experiments.analysis.comparison",
    "compare": "experiments.analysis.compare",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the command line starts without NumPy."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
