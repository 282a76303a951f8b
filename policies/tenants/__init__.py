"""Policies that share a cluster between tenants: fair share, DRF, capacity with reclaim, finish times, an auction."""

from policies.tenants.capacity import Capacity
from policies.tenants.fair import drf, fair_share
from policies.tenants.finish_time import FinishTimeFair
from policies.tenants.themis import Themis

__all__ = ["Capacity", "FinishTimeFair", "Themis", "drf", "fair_share"]
