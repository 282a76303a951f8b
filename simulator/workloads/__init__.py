"""Workload generators, and readers of public trace formats."""
