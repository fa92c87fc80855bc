"""Errors of segvote.

Each inherits from the matching builtin, and its message says what was expected, what was found and what to do. The
command line prints it as one line; any other error is a bug and shows its traceback.
"""


class SegvoteError(Exception):
    """Base of every error that segvote raises on purpose."""


class BadInputError(SegvoteError, ValueError):
    """An argument, a folder or an array is not valid."""


class UnknownNameError(SegvoteError, LookupError):
    """A name is not in the registry; the message lists the known ones."""


class UnreadableImageError(SegvoteError, OSError):
    """An image or a video cannot be read; the message gives the reason in a few words."""


class UnwritableFileError(SegvoteError, OSError):
    """A file cannot be written, such as on a full or read-only disk; the previous file is unchanged."""


class InaccessibleFileError(SegvoteError, OSError):
    """A file exists but cannot be opened now: no permission, too many open files, an error of the disk."""


class DamagedFileError(SegvoteError, ValueError):
    """A file that segvote wrote does not pass its checksum or its schema."""


class BusyRunError(SegvoteError, RuntimeError):
    """Another process is writing into this run folder."""


class MissingPartError(SegvoteError, ImportError):
    """An optional package or a file of weights is not installed; the message says how to get it."""


class TooLargeError(SegvoteError, MemoryError):
    """A method or a file would need too much memory or time; the message names an alternative."""
