"""Features of a cluster beside machines and jobs; one module each."""
