"""Tenants in a scenario file: [tenants].

[tenants]
by = "vc"
weight = { research = 2, product = 1 }
quota = { research = 16, product = 8 }
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from simulator.features.table import FeatureTable, Scene
from simulator.features.tenants.tenants import Tenants, tenants_of, with_drawn_tenants
from simulator.files.keys import KeyedError, NonNegative, Positive, at_key
from simulator.model.workload import Workload
from simulator.statistics import Streams


class TenantKeys(FeatureTable):
    """Tenants: weights, quotas (GPUs), and a draw where the jobs do not name theirs."""

    table: ClassVar[str] = "tenants"
    needs_schedule: ClassVar[bool] = True

    by: Literal["vc", "user"] = "vc"
    """column that names the tenant: virtual cluster or user"""
    weight: dict[str, Positive] = Field(
        default_factory=dict, examples=[{"research": 2, "product": 1}]
    )
    """weights; 1 where nothing is given"""
    quota: dict[str, Annotated[float, Field(ge=1)]] = Field(
        default_factory=dict, examples=[{"research": 24, "product": 16}]
    )
    """quotas, GPUs; none where nothing is given"""
    borrowing: bool = False
    """quotas are guarantees, and idle GPUs beyond them are lent; else quotas are limits"""
    draw: dict[str, NonNegative] = Field(
        default_factory=dict, examples=[{"research": 0.6, "product": 0.4}]
    )
    """tenants for jobs that name none, with these chances"""

    def on_jobs(self, workload: Workload, seed: int) -> Workload:
        """The jobs with a tenant each, where tenants are drawn."""
        if not self.draw:
            return workload
        with at_key("tenants.draw"):
            return with_drawn_tenants(workload, self.by, self.draw, Streams(seed))

    def make(self, scene: Scene) -> Tenants:
        """The tenants."""
        if not self.draw and not any(getattr(scene.workload, self.by)):
            raise KeyedError(
                "tenants.by", f"no job names its {self.by}, expected names, or tenants.draw"
            )
        with at_key("tenants"):
            return tenants_of(
                scene.workload, self.by, self.weight, self.quota, self.borrowing, tuple(self.draw)
            )

    def notes(self, scene: Scene) -> Iterable[str]:
        """Borrowing without quotas."""
        if self.borrowing and not self.quota:
            yield "tenants.borrowing: there is no quota beyond which to borrow; no effect"
