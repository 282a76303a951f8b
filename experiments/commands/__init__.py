"""Commands of the command line: a module for each command or group, wired by `experiments.cli`.

Heavy modules are imported inside the command that needs them, so that the command starts fast.
"""
