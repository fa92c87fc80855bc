"""Figures: bars stand for counts."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from segvote.io.overlays import COLOURS, STOPS, blend_heat
from segvote.report.figures import HistogramRow, draw_heat_scale, draw_histograms, make_edges


def draw(*groups, edges=None):
    rows = [HistogramRow(f"row {number}", "with", np.asarray(values, float)) for number, values in enumerate(groups)]
    edges = make_edges(np.concatenate([row.values for row in rows]), 0.0, 1.0) if edges is None else edges
    return ET.fromstring(draw_histograms(rows, edges, "a < b", mark=0.5))


def list_bars(drawing, row=0):
    return drawing.findall("g")[row].findall("rect")


def test_heights_are_roots_of_counts():
    low, high = list_bars(draw([0.1] * 4 + [0.9] * 16))
    assert float(high.get("height")) == pytest.approx(2 * float(low.get("height")), rel=0.01)
    assert "80 % (16)" in high.find("title").text


def test_one_far_outlier_does_not_squeeze_the_rest():
    values = np.concatenate([np.linspace(0, 1, 5000), [1e9]])
    assert make_edges(values)[-1] < 1.1


def test_scale_shows_the_colours_the_maps_are_painted_with():
    listed = re.findall(r"rgb\((\d+),(\d+),(\d+)\)", draw_heat_scale())
    np.testing.assert_array_equal(np.array(listed, float), COLOURS)
    white = np.full((1, 1, 3), 255, np.uint8)
    hottest = blend_heat(white, np.array([[STOPS[-1]]]))
    np.testing.assert_array_equal(hottest[0, 0], COLOURS[-1])
