"""CPU seconds of the parts where speed counts: `python -m benchmarks`."""
