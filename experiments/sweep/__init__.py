"""Many runs: tasks with a key, a store that survives anything, workers, progress, export."""
