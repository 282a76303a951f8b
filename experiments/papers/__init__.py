"""One package a paper: the runs behind its figures, the figures, the claims; and `reproduce`.

`contract` describes what such a package offers, `registry` lists them.
"""
