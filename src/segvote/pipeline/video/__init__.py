"""The steps in which a video is not treated like an image."""
