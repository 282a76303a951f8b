"""What decides: every policy of schedlab, on the contract of `simulator.contract` alone."""
