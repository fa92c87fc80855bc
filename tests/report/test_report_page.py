"""The page: self-contained, harmless, repeatable, and never without an answer."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from made_runs import DEFAULT_BAGS, make_bag

from segvote.report import write_report

VOID = {"meta", "link", "img", "input", "line", "rect", "stop"}


class Outline(HTMLParser):
    """Elements of a page with their attributes; fails on a closing tag that closes nothing."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(text)

    def handle_starttag(self, element, attrs):
        self.elements.append((element, dict(attrs)))
        if element not in VOID:
            self.open.append(element)

    def handle_endtag(self, element):
        if element not in VOID:
            assert self.open.pop() == element

    def find(self, element, **wanted):
        return [found for name, found in self.elements if name == element and wanted.items() <= found.items()]


def read_page(run):
    return write_report(run).read_text(encoding="utf-8")


def test_every_element_is_closed_and_every_picture_described(make_run):
    page = Outline(read_page(make_run()))
    assert page.open in ([], ["option"])
    assert len(page.find("li", **{"class": "card"})) == 5
    pictures = page.find("img")
    assert len(pictures) == 3 * 3 + 2 * 2  # an image without has no mask to show
    assert all(picture["alt"] and picture["src"].startswith("data:image/jpeg;base64,") for picture in pictures)


def test_nothing_is_fetched(make_run):
    page = Outline(read_page(make_run()))
    for _, found in page.elements:
        for name in ("src", "href"):
            address = found.get(name) or "#"
            assert address.startswith(("data:", "#", "masks/", "heatmaps/"))
    assert "url(" not in (files("segvote.report") / "static" / "report.css").read_text()


def test_the_policy_admits_only_own_scripts_and_style(make_run):
    text = read_page(make_run())
    policy = Outline(text).find("meta", **{"http-equiv": "Content-Security-Policy"})[0]["content"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    inside = re.findall(r"<(?:style|script)>(.*?)</(?:style|script)>", text, re.DOTALL)
    hashes = {"sha256-" + base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in inside}
    assert set(re.findall(r"sha256-[\w+/=]+", policy)) == hashes
    assert not re.search(r"<[^>]* (?:style|on\w+)=", text), "such attributes would be refused by the policy"


def test_odd_file_names_are_harmless(make_run):
    names = ('<script>alert("1")&\x07.png', "caf\udce9.png")
    bags = [*DEFAULT_BAGS, *(make_bag(name, "with", 0.5) for name in names)]
    problems = [{"name": "with/<b>.png", "reason": "/x/<b>.png: the file is truncated"}]
    text = read_page(make_run(bags=bags, problems=problems))
    assert text.count("<script>") == 2
    assert "&lt;script&gt;alert(&#34;1&#34;)&amp;\ufffd.png" in text
    assert "<b>.png" not in text and "&lt;b&gt;.png" in text
    assert "caf%E9.png" in text


def test_equal_runs_have_equal_pages(make_run):
    inputs = {bag_label: make_run("first").folder.path / bag_label for bag_label in ("with", "without")}
    assert read_page(make_run("a", inputs=inputs)) == read_page(make_run("b", inputs=inputs))


@pytest.mark.parametrize("what", ["image", "heat map", "mask"])
def test_a_missing_picture_does_not_cost_the_page(make_run, what):
    run = make_run()
    stem = run.bags[0].stem
    lost = {"image": run.find_image(0), "heat map": run.folder.heatmap_path(stem), "mask": run.folder.mask_path(stem)}
    lost[what].unlink()
    assert read_page(run).count(f'<span class="pane missing">no {what}</span>') == 1


def test_a_page_that_shows_the_result_already_is_left_alone(make_run):
    run = make_run()
    path = write_report(run)
    path.write_text(path.read_text(encoding="utf-8") + "<!-- mine -->", encoding="utf-8")
    assert write_report(run).read_text(encoding="utf-8").endswith("<!-- mine -->")


def test_what_was_left_out_is_listed_above_the_masks(make_run):
    excluded = make_bag("odd.png", "with", 0.5, excluded=True)
    problems = [{"name": "with/bad.jpg", "reason": "/data/with/bad.jpg: the file is truncated"}]
    text = read_page(make_run(bags=[*DEFAULT_BAGS, excluded], problems=problems))
    place = text.index('id="cards"')
    assert text.index("Images excluded from the vote: 1") < text.index("odd.png") < place
    assert text.index("Unreadable files: 1") < text.index("with/bad.jpg") < place
