"""Writers of export formats; their names are the keys of `segvote.io.EXPORTS`."""
