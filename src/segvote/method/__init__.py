"""The method: finds the segments that images with an object share, and images without it lack. Arrays in and out."""
