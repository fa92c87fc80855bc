"""Features of networks: those that are built in, a user's own, and the readers of their weights."""
