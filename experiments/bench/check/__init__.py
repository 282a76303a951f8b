"""Check of a schedule against the jobs, machines and rules that it is for, without the engine.

Nothing here runs a simulation: rows are sorted and summed. So a mistake of the engine shows, and a schedule that another
program made is held to the same rules. From top to bottom: `reading` (a file as columns of numbers), `rows` (faults of
single rows), `changes` (rows as changes of what jobs hold), `capacity`, `demands`, `decisions`, `work`, `metrics`.
"""

from experiments.bench.check.checking import check_schedule
from experiments.bench.check.rules import TaskRules, rules_of
from experiments.bench.check.verdict import Checked, Fault

__all__ = ["Checked", "Fault", "TaskRules", "check_schedule", "rules_of"]
