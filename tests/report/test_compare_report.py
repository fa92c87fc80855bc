"""Comparisons as tables, curves and pages."""

import re
from dataclasses import replace
from xml.etree import ElementTree

from typer.testing import CliRunner

from segvote.cli.app import load_commands
from segvote.evaluation.comparison import Combination, Comparison, Result
from segvote.evaluation.evaluate import Ranking
from segvote.evaluation.rules import RULES
from segvote.evaluation.stress import STRESSES
from segvote.report.experiments import list_comparison_rows, list_set_rows, write_comparison
from segvote.report.figures import draw_curves
from segvote.report.tables import Bold, format_markdown, format_text


def make_result(voter, ious, reason=""):
    overlaps = {} if reason else {rule: [(iou, 1.0) for iou in ious] for rule in RULES}
    names, limits = [f"with/{place}.png" for place in range(len(ious))], [(1.0, 1.0)] * len(ious)
    return Result(Combination("ward", "color", voter), names, overlaps=overlaps, limits=limits, reason=reason)


def make_comparison(tmp_path, results):
    return Comparison(tmp_path, tmp_path, "ekde", 0.5, results)


def test_the_best_method_is_first_and_its_figures_are_bold(tmp_path):
    results = [make_result("crane", [0.2, 0.6]), make_result("ekde", [0.7, 0.9])]
    rows = list_comparison_rows(make_comparison(tmp_path, results))
    assert [row[0] for row in rows] == ["method", "ekde", "crane"]
    assert isinstance(rows[1][1], Bold)
    assert not isinstance(rows[2][1], Bold)
    assert (rows[0][8], rows[1][8], rows[2][8]) == ("ekde better by", "", "+0.400")


def test_a_method_missing_on_a_set_comes_last(tmp_path):
    good = make_comparison(tmp_path, [make_result("crane", [0.6]), make_result("ekde", [0.2])])
    poor = make_comparison(tmp_path, [make_result("crane", [], reason="too slow"), make_result("ekde", [0.9])])
    rows = list_set_rows({"one": good, "two": poor})
    assert rows[0] == ["method", "one", "two", "mean"]
    assert rows[1] == ["ekde", "0.00", "1.00", "0.50"]
    assert rows[2] == ["crane", "1.00", "–", "–"]
    assert isinstance(rows[2][1], Bold)
    assert not isinstance(rows[2][3], Bold)
    page = write_comparison(poor).read_text()
    assert "too slow" in page


def test_tables_are_aligned_text_and_markdown():
    rows = [["method", "a_1"], ["one · x", Bold("0.50")], ["100 %", "–"]]
    assert format_text(rows).splitlines() == ["method    a_1", "one · x  0.50", "100 %       –"]
    assert format_markdown(rows).splitlines()[2] == "| one · x | **0.50** |"
    wide = format_text([["name", "a" * 40, "b" * 40]])
    assert wide.splitlines() == [f"name  {'a' * 40}", "", f"name  {'b' * 40}"]


def test_curves_are_well_formed_and_names_are_escaped():
    ranking = Ranking(0.5, 0.5, [0, 1], [1, 0.5])
    root = ElementTree.fromstring(draw_curves([(f"<{number}>", ranking) for number in range(20)]))
    assert "<19>" in "".join(root.itertext())
    points = [float(value) for value in re.findall(r"[\d.]+", " ".join(e.get("points", "") for e in root.iter()))]
    assert len(points) == 80
    assert max(points) <= 560
    height = float(root.get("viewBox").split()[3])
    assert all(float(text.get("y")) <= height for text in root.iter("{http://www.w3.org/2000/svg}text"))


def test_the_command_prints_the_table_and_writes_all_files(scenes, tmp_path, monkeypatch):
    for kind, stress in STRESSES.items():
        monkeypatch.setitem(STRESSES, kind, replace(stress, levels=stress.levels[:2]))
    arguments = ["compare", str(scenes / "with"), str(scenes / "without"), "--truth", str(scenes / "masks")]
    options = ["-o", str(tmp_path), "--voters", "ekde,negmin", "--features", "color,absent", "--jobs", "1", "--stress"]
    done = CliRunner().invoke(load_commands(), [*arguments, *options, "--n-segments", "40", "--size", "160"])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("method")
    page = (tmp_path / "comparison.html").read_text()
    assert "Figure 1: examples of the data" in page and "Figure 2: heat maps by method" in page
    assert page.count("data:image/jpeg") == 12 + 6 * 3 and page.count("<svg") == 1 + 3
    assert "unknown feature" in page
    assert "http" not in re.sub(r'xmlns="[^"]*"|http-equiv', "", page)
    assert all((tmp_path / f"comparison.{extension}").stat().st_size for extension in ("md", "csv", "json"))
    assert (tmp_path / "stress.csv").read_text().startswith("kind,level,voter,corloc")
