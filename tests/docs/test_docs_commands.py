"""Commands: every `segvote …` that a page or a help text shows has options and arguments that exist."""

import re
import shlex

import typer
from markdown_pages import PAGES, list_blocks

from segvote.cli.app import COMMANDS, load_commands

SHELL = ("sh", "bash", "console", "")
GROUP = typer.main.get_command(load_commands())
WORD = re.compile(r"^\s*\$?\s*(segvote(?:\s.*)?)$")


def list_commands(text):
    """Lines of code blocks that call segvote."""
    lines = [line for block in list_blocks(text) if block.language in SHELL for line in block.code.splitlines()]
    return [found[1] for line in lines if (found := WORD.match(line)) and not is_prose(found[1])]


def is_prose(line):
    """A file's header such as ``segvote   0.1.0``, as `segvote info` prints it."""
    words = line.split()
    return len(words) > 1 and words[1] not in COMMANDS and not words[1].startswith("-")


def cut_comment(line):
    """Words of a command; what comes after ``#`` or three spaces says what it does."""
    return shlex.split(re.split(r"\s{3,}|\s+#\s", line)[0], comments=True)


def check(line):
    """Parse as the command line would; a command that is abridged (…) only has to have known options."""
    words = cut_comment(line)[1:]
    if not words or words[0].startswith("-"):
        return
    command = GROUP.commands[words[0]]
    known = {name for one in command.params for name in [*one.opts, *one.secondary_opts]}
    strange = [word for word in words[1:] if re.match(r"--?[a-z]", word) and word.split("=")[0] not in known]
    assert strange == [], line
    if "…" not in line:
        # Raises where an argument is missing, superfluous or of a wrong type; runs nothing.
        command.make_context(words[0], words[1:])


def list_wrong(lines):
    """Commands by where they stand that cannot be typed, and why."""
    wrong = []
    for where, line in lines:
        try:
            check(line)
        except Exception as error:
            wrong.append((where, line, str(error)))
    return wrong


def test_commands_of_the_pages_can_be_typed():
    assert list_wrong([(page.name, line) for page in PAGES for line in list_commands(page.read_text())]) == []


def test_every_command_is_shown_on_a_page():
    found = [line for page in PAGES for line in list_commands(page.read_text())]
    assert {line.split()[1] for line in found if len(line.split()) > 1} >= set(COMMANDS) - {"demo"}


def test_help_ends_with_examples_that_can_be_typed():
    epilogs = {name: (GROUP.commands[name].epilog or "").splitlines() for name in COMMANDS}
    examples = {name: [line.strip() for line in lines if f"segvote {name}" in line] for name, lines in epilogs.items()}
    assert {name: lines for name, lines in examples.items() if not lines} == {}
    assert list_wrong([(name, line) for name, lines in examples.items() for line in lines]) == []


def test_every_option_has_help():
    options = [(name, one) for name in COMMANDS for one in GROUP.commands[name].params]
    assert [(name, one.name) for name, one in options if not getattr(one, "help", None)] == []


def test_commands_in_the_text_have_options_that_exist():
    quoted = re.compile(r"`segvote ([a-z]+) ([^`\n]*)`")
    found = [(page.name, " ".join(words)) for page in PAGES for words in quoted.findall(page.read_text())]
    assert list_wrong([(name, f"segvote {words} …") for name, words in found]) == []
