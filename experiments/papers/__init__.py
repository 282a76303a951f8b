"""One package a paper: the runs behind its figures, the figures, the claims; and `reproduce`.

`contract` says what such a package offers, `registry` which there are.
"""
