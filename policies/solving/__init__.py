"""Mixed-integer linear models and the solvers that find their optimum; compiled kernels."""
