"""Whose jobs they are, and which are admitted, in a scenario file: [tenants], [admission].

[tenants]
by = "vc"
weight = { research = 2, product = 1 }
quota = { research = 16, product = 8 }

[admission]
rule = "reject"
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from pydantic import Field

from experiments.config import Config, KeyedError, at_key

if TYPE_CHECKING:
    from simulator import Workload
    from simulator.features.admission import Admission
    from simulator.features.tenants import Tenants

Positive = Annotated[float, Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]


class TenantKeys(Config):
    """Whose jobs they are: weights, quotas (GPUs), and a draw where the jobs do not say it."""

    by: Literal["vc", "user"] = "vc"
    weight: dict[str, Positive] = Field(default_factory=dict)
    quota: dict[str, Annotated[float, Field(ge=1)]] = Field(default_factory=dict)
    borrowing: bool = False
    draw: dict[str, NonNegative] = Field(default_factory=dict)


class AdmissionKeys(Config):
    """Treatment of a job that cannot meet its due date."""

    rule: Literal["reject", "downgrade"] = "reject"


class HasTenants(Protocol):
    """A scenario, as far as it concerns this module."""

    tenants: TenantKeys | None
    admission: AdmissionKeys | None
    seed: int


def with_tenants(scenario: Any, workload: Workload) -> Workload:
    """The jobs with a tenant each, where the scenario draws them."""
    from simulator.features.tenants import with_drawn_tenants
    from simulator.statistics import Streams

    given: HasTenants = scenario
    keys = given.tenants
    if keys is None or not keys.draw:
        return workload
    with at_key("tenants.draw"):
        return with_drawn_tenants(workload, keys.by, keys.draw, Streams(given.seed))


def make_tenants(scenario: Any, workload: Workload) -> Tenants | None:
    """The tenants; None where no table is given. Raises KeyedError naming table and key."""
    from simulator.features.tenants import tenants_of

    given: HasTenants = scenario
    keys = given.tenants
    if keys is None:
        return None
    if not keys.draw and not any(getattr(workload, keys.by)):
        raise KeyedError(
            "tenants.by", f"no job names its {keys.by}, expected names, or tenants.draw"
        )
    with at_key("tenants"):
        return tenants_of(
            workload, keys.by, keys.weight, keys.quota, keys.borrowing, tuple(keys.draw)
        )


def make_admission(scenario: Any) -> Admission | None:
    """Admission control; None where no table is given."""
    from simulator.features.admission import Admission

    given: HasTenants = scenario
    return None if given.admission is None else Admission(given.admission.rule)
