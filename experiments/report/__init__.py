"""Contents of a report (`contents`), and its static site (`site`)."""
