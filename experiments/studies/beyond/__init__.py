"""Beyond the papers: failures, spot VMs, shared GPUs, tenants, admission control, racks.

What real clusters do and the five papers leave out. Where there is a closed form or a published
figure, it is drawn beside ours.
"""

from experiments.studies.beyond import (  # noqa: F401
    claims,
    figures,
    figures_admission,
    figures_as_tables,
    figures_guessed,
    figures_spot,
    figures_tenants,
)
from experiments.studies.beyond.page import PAGE

__all__ = ["PAGE"]
