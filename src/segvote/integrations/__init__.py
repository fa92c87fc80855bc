"""Learned decisions inside other people's tools; each file stands alone and needs that tool's own package."""
