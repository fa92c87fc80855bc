"""Several objects at once: one run for each class on the same segments."""
