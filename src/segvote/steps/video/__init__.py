"""The steps that treat a video otherwise than an image."""
