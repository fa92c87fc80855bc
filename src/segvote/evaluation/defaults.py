"""Defaults of benchmarks, apart from the modules that run them: those import heavy packages."""

FEATURES = ("lite0", "bow")  # combined with the voters that are asked for
N_FRAMES = 3  # of each video, as images
MAX_ITEMS = 200  # images or videos of each kind and class
