"""Settings of schedulers in use, as scenarios: Slurm and Kueue."""

from experiments.importing.imported import Imported as Imported
from experiments.importing.kueue import from_kueue as from_kueue
from experiments.importing.slurm import from_slurm as from_slurm
