"""The one tree of errors.

Each error inherits the builtin people expect and carries a message that says what was expected, what came and what to
do. The command line shows such a message as one line; anything that is not a `SegvoteError` is a bug and shows its
traceback.
"""


class SegvoteError(Exception):
    """Base of every error that segvote raises on purpose."""


class BadInputError(SegvoteError, ValueError):
    """An argument, a folder or an array is not what was asked for."""


class UnknownNameError(SegvoteError, LookupError):
    """A name is in no registry; the message lists the known ones."""


class UnreadableImageError(SegvoteError, OSError):
    """An image or a video cannot be read; the message gives the reason in a few words."""


class UnwritableFileError(SegvoteError, OSError):
    """A file cannot be written: the disk is full, the place is read-only or gone; what was there before is still."""


class DamagedFileError(SegvoteError, ValueError):
    """A file that segvote wrote does not pass its checksum or has a shape it cannot have."""


class BusyRunError(SegvoteError, RuntimeError):
    """Another process is writing into this run folder."""


class MissingPartError(SegvoteError, ImportError):
    """An optional package or a file of weights is not installed; the message says how to get it."""


class TooLargeError(SegvoteError, MemoryError):
    """The method would need more memory or time than it may; the message names one that would not."""
