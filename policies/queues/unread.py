"""Changes of nodes or of the queue that a policy has not read yet."""

from __future__ import annotations

from simulator.model.contract import Changes


class Unread:
    """Reads a log of changes from where it was read last."""

    def __init__(self) -> None:
        self._changes: Changes | None = None
        self._mark = -1

    def of(self, changes: Changes) -> list[int] | None:
        """The new entries; None: look at all, as it is another log, or some entries are forgotten."""
        found, self._mark = changes.since(self._mark if changes is self._changes else -1)
        self._changes = changes
        return found
