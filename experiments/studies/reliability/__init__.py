"""Reliability of large training jobs: our model beside the published results of AIReSim."""

from experiments.studies.reliability import claims
from experiments.studies.reliability.runs import PAGE

__all__ = ["PAGE", "claims"]
