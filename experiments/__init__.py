"""Everything that is asked of the laboratory; see docs/architecture.md for the packages.

from experiments import compare
compare("scenario.toml", ["fifo", "srpt"])
"""

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from experiments.comparison.answer import Comparison
    from experiments.comparison.comparing import compare

# Pydantic would load plug-ins of any installed package, and fail where one has malformed metadata.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

__all__ = ["Comparison", "compare"]

FOLDER = Path(__file__).parent.parent
"""Where schedlab's packages are; `schedlab` knows by it that this is the right package."""


def _in_the_way(package: str) -> str | None:
    """A file or folder of the user that Python finds in place of one of schedlab's packages, in a sentence."""
    spec = find_spec(package)
    found = spec.origin if spec is not None else None
    if found == str(FOLDER / package / "__init__.py"):
        return None
    return f"{found} is in the way of schedlab's package {package!r}: rename it, or start in another folder"


for _package in ("simulator", "policies"):
    if (_line := _in_the_way(_package)) is not None:
        if Path(sys.argv[0]).name == "schedlab":  # the command, which has not begun yet
            print(f"schedlab: {_line}", file=sys.stderr)
            sys.exit(2)
        raise ImportError(_line)

_HOMES = {
    "Comparison": "experiments.comparison.answer",
    "compare": "experiments.comparison.comparing",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the command line starts without NumPy."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
