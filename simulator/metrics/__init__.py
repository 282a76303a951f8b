"""Tables and metrics of a finished simulation."""
