"""Beyond the papers: foresight, the laboratory's own policy, against the papers' methods."""
