"""The words of the field: no page and no help speaks a dialect of its own."""

import ast
import re

import typer
from markdown_pages import DOCS, PAGES

from segvote.cli.app import COMMANDS, load_commands

SCRIPTS = [*sorted((DOCS / "examples").glob("plot_*.py")), *sorted((DOCS / "gallery").glob("plot_*.py"))]
# What must not be read, and what is written instead.
DIALECT = {
    r"\bthe things?\b|\ba thing\b": "object",
    r"\btags?\b": "bag label",
    r"\bsuspects?\b|\bmuted?\b|\bno say\b|\btheir say\b": "likely mislabelled, exclude",
    r"\bdoubt\w*|\bdissent\b": "uncertainty",
    r"\btwins?\b": "near-duplicate",
    r"\bmade scenes\b": "synthetic scenes",
    r"\ba person's word\b|\ba person said\b|\bby a person\b": "user label, correction",
    r"\bwho hears whom\b|\bn_heard\b|\bis heard\b|\bare heard\b|\bhears\b": "neighbours, aggregate",
    r"\blists of what is alike\b|\bwho is near whom\b": "inverted lists (IVF), k-NN cache",
    r"\ball alike\b|\belected\b|\belection\b|\bnobody in particular\b": "re-vote with hard labels; intercept",
    r"\bfalse.alarms?\b": "false-positive rate",
    r"\bsurvival factor\b|--\w+-survival\b|\bsurvives? a visit\b": "background prior",
    r"\bwhat was said\b|\bhas its own word\b": "user label",
    r"\bcompany\b": "background that always co-occurs",
    r"\bsmall pieces\b|--n-pieces\b": "superpixels",
    r"\bmade-up\b|\bheaps\b|\bloudest\b": "histogram, highest score first",
}
# Words of code that the page documents, and quotations.
ALLOWED = re.compile(r"`[^`]*`|^\s*```.*?^\s*```", re.MULTILINE | re.DOTALL)


def list_dialect(text):
    prose = ALLOWED.sub("", text)
    return [
        f"{found[0]!r}: write {better}"
        for word, better in DIALECT.items()
        for found in re.finditer(word, prose, re.IGNORECASE)
    ]


def list_offenders(texts):
    return {name: found for name, text in texts.items() if (found := list_dialect(text))}


def test_pages_use_the_words_of_the_field():
    assert list_offenders({page.name: page.read_text() for page in PAGES}) == {}


def read_prose(script):
    """What the page made from a script shows as text: its docstring, and comments that begin a line."""
    code = script.read_text()
    comments = [line for line in code.splitlines() if line.startswith("# ")]
    return "\n".join([ast.get_docstring(ast.parse(code)), *comments])


def test_the_gallery_uses_the_words_of_the_field():
    assert list_offenders({script.stem: read_prose(script) for script in SCRIPTS}) == {}


def test_the_help_uses_the_words_of_the_field():
    group = typer.main.get_command(load_commands())
    texts = {name: [group.commands[name].help or ""] for name in COMMANDS}
    for name in COMMANDS:
        texts[name] += [f"{' '.join(one.opts)} {one.help}" for one in group.commands[name].params]
    assert list_offenders({name: "\n".join(text) for name, text in texts.items()}) == {}


def test_dialect_is_noticed_in_prose_and_not_in_code():
    text = "See the thing, `a tag`.\n\n```python\ndoubt = 3\n```\n\nThe tag is heard, says Nobody in particular."
    assert [line.split(":")[0] for line in list_dialect(text)] == [
        "'the thing'",
        "'tag'",
        "'is heard'",
        "'Nobody in particular'",
    ]
