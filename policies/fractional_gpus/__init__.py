"""Policies for shared GPUs: which node, and which part of which GPU."""
