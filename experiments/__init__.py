"""What is asked: experiments, sweeps, figures, reports and the command line."""
