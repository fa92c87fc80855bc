"""A run on several classes: its folders of images, and the runs of the classes."""
