"""Questions about one scenario or result: comparing, bounds, gaps, sizing, one decision."""
