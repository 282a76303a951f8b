"""Shares of time by GPU type: our policies against published results, job by job, and against each other."""

from experiments.studies.shares import claims, figures
from experiments.studies.shares.page import PAGE

__all__ = ["PAGE", "claims", "figures"]
