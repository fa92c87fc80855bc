"""One file per export format; their names are the keys of `segvote.io.EXPORTS`."""
