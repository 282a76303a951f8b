"""Policies that share a cluster between tenants: fair share, DRF, capacity with reclaim, finish times, an auction."""

from policies.tenants.capacity import capacity
from policies.tenants.fair import drf, fair_share
from policies.tenants.finish_time import finish_time_fair
from policies.tenants.themis import themis

__all__ = ["capacity", "drf", "fair_share", "finish_time_fair", "themis"]
