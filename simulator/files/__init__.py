"""Files in and out: those that users bring, new ones, the laboratory's tables, and keys of configuration files."""
