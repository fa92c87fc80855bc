"""Templates: every value is escaped; only our own styles and scripts are not, and what HTML forbids is replaced."""

import re
import subprocess
import sys
from importlib.resources import files

import pytest
from jinja2 import UndefinedError

from segvote.report.markup import load_environment, make_readable, render
from segvote.report.tables import Bold

TEMPLATES = {one.name: one.read_text(encoding="utf-8") for one in (files("segvote.report") / "templates").iterdir()}


def test_every_template_compiles_and_escapes():
    environment = load_environment()
    assert environment.autoescape is True and len(TEMPLATES) > 20
    for name in TEMPLATES:
        environment.get_template(name)


def test_only_styles_and_scripts_of_our_own_are_not_escaped():
    places = [line for text in TEMPLATES.values() for line in text.splitlines() if re.search(r"\bsafe\b", line)]
    assert len(places) == 3
    assert all(re.search(r'<(style|script)>{{ (style|"\w+\.js" \| read_static) \| safe }}</', line) for line in places)
    assert not any("autoescape" in text for text in TEMPLATES.values())


@pytest.mark.parametrize("name", ["<b>&\"'", "caf\udce9", "\x00\x1b[2J\x9f", "é \u202e"])
def test_names_that_are_no_html_come_out_as_text(name):
    page = render("problem.html.j2", part="a file", reason=name)
    assert page.count("<") == 2 and not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", page)
    page.encode("utf-8")


def test_what_a_template_made_is_not_escaped_twice():
    made = render("problem.html.j2", part="a <part>", reason="1 < 2")
    assert make_readable(made) is made
    assert "a &lt;part&gt;" in render("stress.html.j2", chart=made, rows=[["a"], [Bold("<b>")]], reasons=[])


def test_the_best_cells_are_bold():
    table = render("stress.html.j2", chart="", rows=[["name", "IoU"], ["a & b", Bold("0.5")]], reasons=["1 < 2"])
    assert '<th scope="row">a &amp; b</th><td><b>0.5</b></td>' in table and "<p>1 &lt; 2</p>" in table


def test_a_value_that_a_template_misses_is_an_error():
    with pytest.raises(UndefinedError, match="reason"):
        render("problem.html.j2", part="a part")


def test_templates_are_loaded_when_a_page_is_written():
    code = "import sys, segvote.api, segvote.report; print('jinja2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
