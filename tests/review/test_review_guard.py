"""Requests that the page would not send are rejected."""

import json

import pytest

pytest.importorskip("starlette")

from segvote.review.serving.routes import MAX_BODY, STATIC
from segvote.review.serving.server import make_guarded_app


@pytest.fixture
def guarded(run):
    app, token, (session,) = make_guarded_app(run)
    yield app, token
    session.close()


@pytest.fixture
def client(guarded, make_client):
    app, token = guarded
    return make_client(app, f"/{token}")


def test_the_token_is_part_of_the_address_and_no_cookie(guarded, client, make_client):
    app, token = guarded
    answer = make_client(app).get(f"/{token}")
    assert answer.status_code == 303 and answer.headers["location"] == f"/{token}/"
    page = client.get("/")
    assert page.status_code == 200 and "set-cookie" not in page.headers


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({"Host": "evil.example"}, "foreign host"),
        ({"Host": "evil.example:80@127.0.0.1"}, "foreign host"),
        ({"Origin": "http://evil.example"}, "foreign origin"),
        ({"Origin": "http://127.0.0.1:1"}, "foreign origin"),
        ({"Sec-Fetch-Site": "cross-site"}, "foreign origin"),
    ],
)
def test_other_hosts_and_origins_are_rejected(client, headers, reason):
    for answer in (client.get("/api/run", headers=headers), client.post("/api/undo", json={}, headers=headers)):
        assert answer.status_code == 403 and reason in answer.text


def test_a_wrong_token_is_rejected(guarded, make_client):
    for base in ("", "/guess"):
        answer = make_client(guarded[0], base).get("/api/run")
        assert answer.status_code == 403 and "no token" in answer.text


def test_a_post_without_origin_is_rejected(client):
    del client.headers["Origin"]
    assert client.get("/api/status").status_code == 200
    assert client.post("/api/accept", json={"bags": [0], "value": True}).status_code == 403


def test_a_file_may_lead_to_the_page_and_to_nothing_else(client):
    """From a file the browser comes as from another site."""
    del client.headers["Origin"]
    opened = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert client.get("/", headers=opened).status_code == 200
    assert client.get("/api/run", headers=opened).status_code == 403
    assert client.get("/", headers={**opened, "Sec-Fetch-Dest": "iframe"}).status_code == 403


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("set", {"bag": 0, "segments": [], "value": 1}),
        ("set", {"bag": 0, "segments": [10**9], "value": 1}),
        ("set", {"bag": 0, "segments": ["../x"], "value": 1}),
        ("set", {"bag": 0, "segments": [0], "value": 7}),
        ("set", {"bag": "0", "segments": [0], "value": 1}),
        ("set", {"bag": 0, "segments": [0], "value": 1, "path": "/etc/passwd"}),
        ("set", {"bag": 0, "segments": [0], "value": 1, "frame": -7}),
        ("set", []),
        ("accept", {"bags": [0]}),
        ("accept", {"bags": [0, 0], "value": True}),
        ("clear", {"bags": [99999]}),
        ("move", {"bags": [0], "bag_label": "elsewhere"}),
        ("paint", {"bag": 0, "tool": "brush", "points": [-90, -90], "radius": 2, "snap": False, "value": 1}),
        ("paint", {"bag": 0, "tool": "brush", "points": [1e300, 5], "radius": 2, "snap": False, "value": 1}),
        ("paint", {"bag": 0, "tool": "brush", "points": [[5, 5]], "radius": 2, "snap": False, "value": 1}),
        ("paint", {"bag": 0, "tool": "saw", "points": [5, 5], "radius": 2, "snap": False, "value": 1}),
        ("paint", {"bag": 0, "tool": "smart", "points": [-5, 5], "radius": 2, "snap": False, "value": 1}),
        ("paint", {"bag": 0, "tool": "smart", "points": [5, 5], "radius": 2, "snap": False, "value": 7}),
        ("reshape", {"bag": 0, "outline": [1, 1, 9, 1, 9, 9], "points": [1, 1, 9, 1, 9, 9]}),
        ("reshape", {"bag": 0, "outline": [1, 1, 9, 1, 9, 9], "points": [1, 1]}),
        ("take", {"bag": 0, "points": [-5, 5], "level": 2, "value": 1}),
        ("take", {"bag": 0, "points": [5, 5], "level": 9, "value": 1}),
        ("cut", {"bag": 0, "points": ["a", 1]}),
        ("join", {"bag": 0, "points": [0.5, 0.5]}),
        ("extent", {"bags": [], "extent": 99}),
        ("alternative", {"number": "B"}),
        ("undo", {}),
        ("export", {"folder": "/tmp"}),
    ],
)
def test_a_malformed_message_changes_nothing(client, name, message):
    answer = client.post(f"/api/{name}", json=message)
    assert answer.status_code == 400 and answer.json()["error"]
    assert client.get("/api/status").json()["action"] == 0


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"NaN"])
def test_a_body_that_is_not_json_is_rejected(client, body):
    assert client.post("/api/set", content=body, headers={"Content-Type": "application/json"}).status_code == 400


def test_large_bodies_and_forms_are_rejected(client):
    message = {"bag": 0, "segments": [0] * MAX_BODY, "value": 1}
    assert client.post("/api/set", json=message).status_code == 413
    pieces = (part for part in [json.dumps(message).encode()] * 2)  # without a Content-Length
    assert client.post("/api/set", content=pieces, headers={"Content-Type": "application/json"}).status_code == 413
    assert client.post("/api/accept", data={"bags": "0"}).status_code == 415


@pytest.mark.parametrize(
    "path",
    [
        "/../../../../etc/passwd",
        "/static/..%2f..%2f..%2f..%2f..%2fetc%2fpasswd",
        "/static/%2e%2e%5cserver.py",
        "/static/%2e%2e/session.py",
        "/static/%00",
        "/api/images/..%2f..%2frun.json/picture",
        "/api/images/999999999999999999999/mask",
        "/api/images/" + "9" * 5000 + "/mask",
        "/api/images/0/segments/99999/crop",
    ],
)
def test_no_path_leads_out(client, path):
    answer = client.get(path)
    assert answer.status_code in (400, 403, 404)
    assert "root:" not in answer.text and "import" not in answer.text


def test_every_answer_carries_the_policy(client):
    for path in ("/", "/api/run", "/static/app.js", "/nowhere", "/api/images/9" + "9" * 300):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
    assert "unsafe" not in headers["content-security-policy"]


def test_the_page_fetches_nothing_from_elsewhere():
    for path in STATIC.iterdir():
        text = path.read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text and "https://" not in text, path
        assert "innerHTML" not in text and "eval(" not in text, path
