"""Drawing the masks of images: superpixels of an image, and the way of drawing of a run."""
