"""Scenario files: what they may hold, how they become a simulation, and what comes out.

The way of a scenario: `schema` (the file as data) -> `jobs` and `machines` (what it describes)
-> `build` (policy, decision points, server) -> `run` (simulate, summarise) -> `output` (files).
`checks` finds what is wrong before anything runs; `options` is the command line as a scenario.
"""
