"""The benchmark: frozen comparisons, a check of schedules, a table."""
