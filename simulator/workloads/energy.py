"""Price of energy and overhead of a data centre where a file does not say them: those of the ANDREAS papers."""

from __future__ import annotations

ENERGY_EUR_PER_KWH = 0.17168313
PUE = 1.33
"""Power usage effectiveness: energy of the data centre over that of its nodes."""
