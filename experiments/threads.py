"""One thread a process, for libraries of linear algebra and compiled code.

Runs side by side are the parallelism, and solvers stay deterministic. On a busy machine the threads of
one small matrix wait actively for each other: ten times the CPU time for nothing.
"""

import warnings

ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMBA_NUM_THREADS",
    ),
    "1",
)
"""Variables of the environment, which count before the libraries are loaded."""


def quiet_numbers() -> None:
    """No warnings of NumPy beside the results: what they tell of ends in values that are checked."""
    kinds = "overflow|underflow|invalid value|divide by zero"
    warnings.filterwarnings("ignore", rf"({kinds}) encountered", RuntimeWarning)
