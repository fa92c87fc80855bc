"""Input folders to bags: images, pages of stacks, videos, class folders, a user's own label maps."""
