"""Commands of the command line: one module a command, wired by `experiments.cli`.

Heavy modules are imported inside the command that needs them, so that the command starts fast.
"""
