"""Videos: files, and folders of frames."""
