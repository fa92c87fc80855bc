"""Attacks: refused, logged, and the server still answers."""

import pytest

pytest.importorskip("starlette")

from segvote.review.serving.server import make_guarded_app

OWN = {"origin": "http://127.0.0.1:9876"}


@pytest.fixture
def review(run, make_caller):
    app, token, room = make_guarded_app(run, token="secret-token")
    yield make_caller(app), run, token
    room.close()


@pytest.fixture
def client(review, make_caller):
    stranger, _, token = review
    return make_caller(stranger.app, f"/{token}")


def test_the_token_is_part_of_the_address_and_no_cookie(review, client):
    stranger, _, token = review
    answer = stranger.get(f"/{token}")
    assert answer.status == 303 and answer.headers["location"] == f"/{token}/"
    page = client.get("/")
    assert page.status == 200 and "set-cookie" not in page.headers
    assert page.headers["referrer-policy"] == "no-referrer"


def test_what_is_refused_is_logged_without_the_token(review, client):
    client.get("/api/run", host="evil.example")
    assert "secret-token" not in review[1].folder.log_path.read_text()


def test_a_file_may_lead_to_the_page_and_to_nothing_else(client):
    """From a file the browser comes as from another site."""
    opened = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}
    assert client.get("/", **opened).status == 200
    assert client.get("/api/run", **opened).status == 403
    assert client.get("/", **{**opened, "sec_fetch_dest": "iframe"}).status == 403


@pytest.mark.parametrize(
    "name, message",
    [
        ("set", {"bag": 0, "segments": [], "value": 1}),
        ("set", {"bag": 0, "segments": [10**9], "value": 1}),
        ("set", {"bag": 0, "segments": ["../x"], "value": 1}),
        ("set", {"bag": 0, "segments": [0], "value": 7}),
        ("set", {"bag": "0", "segments": [0], "value": 1}),
        ("set", {"bag": 0, "segments": [0], "value": 1, "path": "/etc/passwd"}),
        ("set", None),
        ("accept", {"bags": [0]}),
        ("accept", {"bags": [0, 0], "value": True}),
        ("clear", {"bags": [99999]}),
        ("move", {"bags": [0], "bag_label": "elsewhere"}),
        ("paint", {"bag": 0, "tool": "brush", "points": [-90, -90], "radius": 2, "snap": False, "value": 1}),
        ("paint", {"bag": 0, "tool": "brush", "points": [1e300, 5], "radius": 2, "snap": False, "value": 1}),
        ("paint", {"bag": 0, "tool": "saw", "points": [5, 5], "radius": 2, "snap": False, "value": 1}),
        ("paint", {"bag": 0, "tool": "smart", "points": [-5, 5], "radius": 2, "snap": False, "value": 1}),
        ("reshape", {"bag": 0, "points": [-5, 5, 1, 1, 9, 1, 9, 9]}),
        ("cut", {"bag": 0, "points": ["a", 1]}),
        ("join", {"bag": 0, "points": [0.5, 0.5]}),
        ("undo", {}),
        ("export", {"folder": "/tmp"}),
    ],
)
def test_a_malformed_message_changes_nothing(review, client, name, message):
    answer = client.post(f"/api/{name}", message, **OWN)
    assert answer.status == 400 and answer.json()["error"]
    assert client.get("/api/status").json()["action"] == 0


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"NaN"])
def test_what_is_not_json_is_refused(client, body):
    answer = client.post("/api/set", chunks=[body], **OWN)
    assert answer.status == 400
    assert client.get("/api/run").status == 200


def test_forms_of_other_pages_are_refused(client):
    answer = client.post("/api/accept", {"bags": [0], "value": True}, **{**OWN, "content-type": "text/plain"})
    assert answer.status == 415


def test_every_answer_carries_the_policy(client):
    for path in ("/", "/api/run", "/static/app.js", "/nowhere"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
    assert "unsafe" not in client.get("/").headers["content-security-policy"]


def test_the_page_asks_nobody_else():
    from segvote.review.serving.routes import read_static

    for name, (_, content) in read_static().items():
        text = content.decode().replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text and "https://" not in text, name
        assert "innerHTML" not in text and "eval(" not in text, name
