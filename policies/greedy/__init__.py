"""Construction, randomised construction, local search and path relinking."""
