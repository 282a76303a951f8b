"""Comparisons: policies on the same jobs and random numbers, from what can run to an answer in words.

entrants.py    what is compared: a scenario for each policy, in the form of the jobs that it decides on
plan.py        the settings, and how many runs are made
runs.py        the runs: in a run database with workers, or one after another in this process
comparing.py   from a plan to a comparison
estimating.py  estimates, paired differences, ranks
answer.py      the answer in words, as text, LaTeX and HTML
pictures.py writing.py   pictures; the folder of a comparison
size.py whatif.py   the smallest cluster for a target; the difference that a setting makes
metrics.py     what is measured: words, unit, and whether less or more is better
"""
