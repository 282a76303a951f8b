"""What decides: every policy of schedlab, on the contract of `simulator.model.contract` alone."""

from policies.registry import (
    check_needs,
    describe,
    lacks,
    make_policy,
    needs_of,
    needs_verdict,
    policy_names,
)

__all__ = [
    "check_needs",
    "describe",
    "lacks",
    "make_policy",
    "needs_of",
    "needs_verdict",
    "policy_names",
]
