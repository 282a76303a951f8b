"""Scheduling policies, on the contract of `simulator.model.contract` alone."""

from policies.registry.making import (
    check_requirements,
    composed_names,
    describe,
    make_policy,
    missing_requirements,
    policy_names,
    queue_of,
    requirements_of,
    requirements_verdict,
    taken_for,
    wrapper_names,
)
from policies.registry.registration import Wrapper, register

__all__ = [
    "Wrapper",
    "check_requirements",
    "composed_names",
    "describe",
    "make_policy",
    "missing_requirements",
    "policy_names",
    "queue_of",
    "register",
    "requirements_of",
    "requirements_verdict",
    "taken_for",
    "wrapper_names",
]
