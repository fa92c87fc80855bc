"""How the terminal is spoken to: help, progress, and what Ctrl-C does."""
