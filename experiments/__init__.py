"""Everything that is asked of the laboratory; see docs/architecture.md for the rooms."""

import os

# Pydantic would load plug-ins of any installed package, and fail where one has malformed metadata.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
