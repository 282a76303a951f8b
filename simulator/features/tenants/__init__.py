"""Tenants: whose jobs they are, quotas, and what is fair between them."""

from simulator.features.tenants.tenants import (
    Tenants,
    envy_rate,
    tenants_of,
    water_filling,
    with_drawn_tenants,
)

__all__ = ["Tenants", "envy_rate", "tenants_of", "water_filling", "with_drawn_tenants"]
