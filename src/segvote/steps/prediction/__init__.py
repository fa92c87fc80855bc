"""The model of a run, and its predictions for new images."""
