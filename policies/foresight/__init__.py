"""foresight: a policy of the laboratory's own that looks ahead."""

from policies.foresight.policy import Foresight

__all__ = ["Foresight"]
