"""Simulated waits of a log held against the recorded ones: how far apart they are, and what that allows to answer."""
