import builtins
import stat
import webbrowser
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner
from waiting import wait_until

from segvote.cli.app import load_commands
from segvote.errors import BadInputError, MissingPartError
from segvote.review.serving.server import open_browser, open_server, serve


def call(*arguments):
    return CliRunner().invoke(load_commands(), [str(argument) for argument in arguments])


def test_explain_prints_amounts_and_writes_a_page(run_copy, tmp_path):
    result = call("explain", run_copy, "with-001", "--html", tmp_path / "why.html", "--lines", 2)
    assert result.exit_code == 0 and "votes for" in result.output
    assert "<h1>with/with-001.png, segment" in (tmp_path / "why.html").read_text()


def test_review_wants_a_run_folder(tmp_path):
    with pytest.raises(BadInputError, match="not a run folder"):
        serve(tmp_path)


def test_a_port_in_use_is_said_in_one_line(run):
    with open_server(run) as (_, listener, _), pytest.raises(BadInputError, match="choose another --port"):
        serve(run.folder.path, port=listener.getsockname()[1])


def test_without_the_web_extra_the_message_says_how_to_get_it(run_copy, monkeypatch):
    real_import = builtins.__import__

    def refuse(name, *arguments, **keywords):
        if name == "uvicorn":
            raise ImportError("no", name="uvicorn")
        return real_import(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingPartError, match=r"pip install 'segvote\[web\]'"):
        serve(run_copy)


def test_the_browser_is_given_a_file_of_its_owner_only(monkeypatch):
    given = []
    monkeypatch.setattr(webbrowser, "open", given.append)
    with open_browser("http://127.0.0.1:1/secret/"):
        wait_until(lambda: given)
        assert "secret" not in given[0] and given[0].startswith("file://")
        page = Path(urlsplit(given[0]).path)
        assert stat.S_IMODE(page.stat().st_mode) == 0o600 and stat.S_IMODE(page.parent.stat().st_mode) == 0o700
        assert "http://127.0.0.1:1/secret/" in page.read_text()
    assert not page.exists()
