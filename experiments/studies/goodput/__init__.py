"""Goodput: our policies against published results, job by job, and against each other."""

from experiments.studies.goodput import claims, figures
from experiments.studies.goodput.page import PAGE

__all__ = ["PAGE", "claims", "figures"]
