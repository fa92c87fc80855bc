"""Requests without the token, or under another host name, are refused."""

import pytest

from segvote.integrations.label_studio import LOCAL_HOSTS, TokenGuard


def ask(path, host="127.0.0.1:9090", hosts=LOCAL_HOSTS):
    """Status of the answer, and the path that the guarded application was asked for."""
    asked, status = [], []

    def application(environ, start_response):
        asked.append(environ["PATH_INFO"])
        start_response("200 OK", [])
        return [b"masks"]

    guard = TokenGuard(application, "secret", hosts)
    list(guard({"PATH_INFO": path, "HTTP_HOST": host}, lambda code, headers: status.append(code)))
    return status[0][:3], asked


def test_requests_with_the_token_are_answered():
    assert ask("/secret/predict") == ("200", ["/predict"])
    assert ask("/secret") == ("200", ["/"])


@pytest.mark.parametrize("path", ["/predict", "", "/secret2/predict", "/é/x"])
def test_requests_without_the_token_are_refused(path):
    assert ask(path) == ("403", [])


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:9090", "", "localhost.evil.example:9090", "127.0.0.1.x"]
)
def test_other_host_names_are_refused(host):
    assert ask("/secret/predict", host) == ("403", [])
    assert ask("/secret/predict", host, hosts=())[0] == "200"


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9090", "127.0.0.1", "[::1]:9090", "[::1]"])
def test_local_host_names_are_accepted(host):
    assert ask("/secret/predict", host)[0] == "200"
