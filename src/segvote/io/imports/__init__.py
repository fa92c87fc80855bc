"""Corrections made elsewhere, read back as annotations; `segvote.io.imports.detect.read_any` chooses the reader."""
