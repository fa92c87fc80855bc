"""The page in a real browser: filter, sort, enlarge, theme; and the policy lets all of it work."""

import json
import re
import shutil
import subprocess
from html import unescape

import pytest
from made_runs import DEFAULT_BAGS, make_bag

from segvote.report import write_report

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--allow-file-access-from-files",
    "--virtual-time-budget=5000",
    "--dump-dom",
]
# The page admits no foreign script, so another page holds it in a frame and presses its buttons.
DRIVER = """<iframe id=f src=report.html></iframe><pre id=said></pre><script>
f.onload = () => {
  const page = f.contentDocument, view = f.contentWindow, said = {};
  const find = (id) => page.getElementById(id);
  const listNames = () => Array.from(page.querySelectorAll(".card:not([hidden])"), (card) => card.dataset.name);
  const choose = (name, value) => {
    const field = find("controls").elements[name];
    field.value = value;
    find("controls").dispatchEvent(new view.Event("input"));
  };
  const press = (key) => find("viewer").dispatchEvent(new view.KeyboardEvent("keydown", { key, bubbles: true }));
  said.uncertainty = listNames();
  choose("sort", "name"); said.name = listNames();
  choose("sort", "score"); said.score = listNames();
  choose("label", "without"); said.without = listNames(); said.count = find("count").textContent;
  choose("label", "all"); choose("sort", "rank"); choose("name", "TORN"); said.searched = listNames();
  choose("name", "");
  page.querySelector(".triplet").click();
  said.opened = [find("viewer").open, find("viewer-name").textContent, find("viewer-panes").children.length];
  press("ArrowRight"); said.after = find("viewer-name").textContent;
  press("ArrowLeft"); press("ArrowLeft"); said.before = find("viewer-name").textContent;
  find("close").click(); said.closed = !find("viewer").open;
  find("theme").click(); said.theme = page.documentElement.dataset.theme;
  said.ground = view.getComputedStyle(page.body).backgroundColor;
  said.broken = Array.from(page.images).filter((image) => !image.naturalWidth).length;
  document.getElementById("said").textContent = JSON.stringify(said);
};
</script>"""


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_controls_and_viewer_work_under_the_policy(make_run, tmp_path):
    run = make_run(bags=[*DEFAULT_BAGS, make_bag("<img src=x onerror=alert(1)>.png", "with", 0.3, 0.6)])
    driver = write_report(run).with_name("driver.html")
    driver.write_text(DRIVER)
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", driver.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    said = json.loads(unescape(re.search(r'<pre id="said">(.*?)</pre>', shown, re.DOTALL)[1]))
    odd = "<img src=x onerror=alert(1)>.png"
    assert said == {
        "uncertainty": ["torn.png", odd, "fair.png", "clear.png", "loud.png", "quiet.png"],
        "name": [odd, "clear.png", "fair.png", "loud.png", "quiet.png", "torn.png"],
        "score": ["clear.png", odd, "fair.png", "loud.png", "torn.png", "quiet.png"],
        "without": ["loud.png", "quiet.png"],
        "count": "2 of 6 images",
        "searched": ["torn.png"],
        "opened": [True, "torn.png", 3],
        "after": odd,
        "before": "quiet.png",
        "closed": True,
        "theme": "dark",
        "ground": "rgb(15, 17, 21)",
        "broken": 0,
    }
