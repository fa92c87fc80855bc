"""Masks as numbers and outlines, as files of other tools hold them: run lengths, brush strokes, polygons."""
