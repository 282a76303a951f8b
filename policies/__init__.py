"""What decides: every policy of schedlab, on the contract of `simulator.contract` alone."""

from policies.registry import describe, make_policy, policy_names

__all__ = ["describe", "make_policy", "policy_names"]
