"""The model of a run, and what it says of images never seen."""
