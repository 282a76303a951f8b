"""Commands of `schedlab theory`: one module each, with a function of its name."""
