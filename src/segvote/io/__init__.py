"""Files to arrays and back: images, masks, tables, run folders, exports."""

from segvote.registry import Registry

__all__ = ["EXPORTS"]

EXPORTS = Registry(
    "export format",
    {},
)
