"""The page for a class: ten panels, each a formula beside a simulation, with a question.

``schedlab classroom`` and ``schedlab reproduce`` write it. Formulas are computed in the page and tested
against `simulator.theory`; simulations come from runs of the engine, kept in a store like all others.
"""

from experiments.classroom.page import classroom, write_classroom
from experiments.classroom.runs import tasks

__all__ = ["classroom", "tasks", "write_classroom"]
