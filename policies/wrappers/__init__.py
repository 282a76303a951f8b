"""Policies around a policy: they change what it sees or what it answers, ``NAME@wrapper``."""
