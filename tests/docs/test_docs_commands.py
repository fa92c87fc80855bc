"""Every `segvote …` that a page or a help text shows has options and arguments that exist."""

import re
import shlex

import pytest
import typer
from markdown_pages import PAGES, ROOT, list_blocks

from segvote.cli.app import COMMANDS, load_commands

SHELL = ("sh", "bash", "console", "")
GROUP = typer.main.get_command(load_commands())
CALL = re.compile(rf"^\s*\$?\s*segvote ((?:{'|'.join(COMMANDS)})(?:\s.*)?)$")
SCRIPT = re.compile(r"python ((?:benchmarks|tests|docs|packages)/[\w/]+\.py)([^`\n]*)")
QUOTED = re.compile(r"`segvote ([a-z]+ [^`\n]*)`")


def list_commands(text):
    """Lines of code blocks that call segvote, without the comment after ``#`` or three spaces."""
    lines = [line for block in list_blocks(text) if block.language in SHELL for line in block.code.splitlines()]
    return [re.split(r"\s{3,}|\s+#\s", found[1])[0] for line in lines if (found := CALL.match(line))]


SHOWN = [(page.name, line) for page in PAGES for line in list_commands(page.read_text())]
TEXT = [(page.name, f"{line} …") for page in PAGES for line in QUOTED.findall(page.read_text())]
HELP = [
    (name, line.strip().removeprefix("segvote "))
    for name in COMMANDS
    for line in (GROUP.commands[name].epilog or "").splitlines()
    if f"segvote {name}" in line
]


@pytest.mark.parametrize("lines", [SHOWN, TEXT, HELP], ids=["blocks", "text", "help"])
def test_commands_can_be_typed(lines):
    """An abridged command (…) only has to have known options."""
    for where, line in lines:
        name, *words = shlex.split(line, comments=True)
        command = GROUP.commands[name]
        known = {option for one in command.params for option in [*one.opts, *one.secondary_opts]}
        strange = [word for word in words if re.match(r"--?[a-z]", word) and word.split("=")[0] not in known]
        assert strange == [], (where, line)
        if "…" not in line:
            # Raises where an argument is missing, superfluous or of a wrong type; runs nothing.
            command.make_context(name, words)


def test_every_command_has_examples_and_is_on_a_page():
    assert {name for name, _ in HELP} == set(COMMANDS)
    assert {line.split()[0] for _, line in SHOWN} >= set(COMMANDS) - {"demo"}


def test_every_option_has_help():
    options = [(name, one) for name in COMMANDS for one in GROUP.commands[name].params]
    assert [(name, one.name) for name, one in options if not getattr(one, "help", None)] == []


def test_scripts_on_the_pages_exist_and_have_the_options():
    shown = [(page.name, *found) for page in PAGES for found in SCRIPT.findall(page.read_text())]
    missing = [(page, script) for page, script, _ in shown if not (ROOT / script).is_file()]
    # Some options are added by a module that the scripts of a folder share.
    sources = {
        script: "".join(path.read_text() for path in (ROOT / script).parent.glob("*.py")) for _, script, _ in shown
    }
    options = [(page, script, one) for page, script, rest in shown for one in re.findall(r"(?<!\S)--[a-z][\w-]*", rest)]
    unknown = [(page, script, one) for page, script, one in options if f'"{one}"' not in sources[script]]
    assert missing == unknown == []
    assert len(shown) > 20
