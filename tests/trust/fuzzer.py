"""Requests that no page would send, made from a seed: raw bytes for a socket, most of them with the right token."""

import base64
import json
import socket
from urllib.parse import quote

ROUTES = (
    "/",
    "/static/app.js",
    "/api/run",
    "/api/status",
    "/api/update?since=0",
    "/api/images/0/picture",
    "/api/images/1/thumb",
    "/api/images/2/map",
    "/api/images/0/mask",
    "/api/images/1/small-mask",
    "/api/images/0/segments/1/crop",
    "/api/images/0/segments/1/votes",
    "/api/doctor",
)
ACTIONS = {
    "set": {"bag": 0, "segments": [0, 1], "value": 1},
    "accept": {"bags": [1], "value": True},
    "move": {"bags": [1], "bag_label": "without"},
    "paint": {"bag": 0, "tool": "brush", "points": [5, 5, 9, 9], "radius": 2, "snap": True, "value": 1},
    "undo": {"expected": 1},
    "redo": {"expected": 1},
}
OUTSIDE = ("../../../../etc/passwd", "..%2f..%2f..%2fetc%2fpasswd", "/etc/passwd", "....//....//run.json", "run.json")
STRANGE = (-1, 2**63, 10**400, 0.5, "x", "\ud800", "\0", None, True, [], {}, [[[]]], "../..", 1e400, [2**70] * 9)
NUMBERS = ("0", "5", "6", "-1", "007", "9" * 20, "9" * 5000, "1e3", "0x1", "\u0663", "1;2", "%31", "None")
METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "\x01", "G" * 5000)


class Fuzzer:
    """Makes requests for one server.

    Parameters
    ----------
    host, token
        As in the printed address.
    rng
        ``random.Random``.
    """

    def __init__(self, host, token, rng):
        self.host, self.token, self.rng = host, token, rng
        kinds = (
            self.ask,
            self.wander,
            self.act,
            self.act_strangely,
            self.bend_headers,
            self.lie,
            self.upgrade,
            self.shout,
        )
        self.kinds = kinds

    def make(self):
        """One request."""
        return self.rng.choice(self.kinds)()

    def ask(self):
        path = self.rng.choice(ROUTES)
        for number in "0123":
            if f"/{number}/" in path and self.rng.random() < 0.5:
                path = path.replace(f"/{number}/", f"/{quote(self.rng.choice(NUMBERS), safe='%;')}/", 1)
        if "since" in path:
            path = path.replace("=0", "=" + quote(self.rng.choice(NUMBERS)))
        return self.write("GET", path)

    def wander(self):
        starts = (
            "/static/",
            "/api/images/0/",
            "/api/images/",
            "/",
            "/static/%2e%2e/",
            "//",
            "/?token=",
            "/?" + "a&" * 20,
        )
        return self.write(self.rng.choice(METHODS), self.rng.choice(starts) + self.rng.choice(OUTSIDE))

    def act(self):
        name = self.rng.choice(sorted(ACTIONS))
        message = {**ACTIONS[name]}
        if "bag" in message:
            message["bag"] = self.rng.randrange(6)
        if "bags" in message:
            message["bags"] = [self.rng.randrange(6)]
        return self.write("POST", f"/api/{name}", json.dumps(message).encode())

    def act_strangely(self):
        name = self.rng.choice(sorted(ACTIONS))
        message = {**ACTIONS[name]}
        for key in self.rng.sample(sorted(message), self.rng.randint(1, len(message))):
            message[key] = self.rng.choice(STRANGE)
        bodies = (
            json.dumps(message).encode(),
            json.dumps({**message, "more": 1}).encode(),
            json.dumps([message]).encode(),
            b"[" * 100_000,
            b"9" * 5000,
            b'{"bag": NaN}',
            json.dumps(message).encode("utf-16"),
            self.rng.randbytes(self.rng.randint(0, 300)),
            b"",
        )
        kinds = ("application/json", "application/json", "text/plain", "application/x-www-form-urlencoded", "")
        return self.write("POST", f"/api/{name}", self.rng.choice(bodies), {"Content-Type": self.rng.choice(kinds)})

    def bend_headers(self):
        changes = (
            {"Host": "evil.example"},
            {"Host": f"{self.host}.evil.example"},
            {"Host": "127.0.0.1:99999"},
            {"Host": "[::1"},
            {"Host": ""},
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Cookie": "x=" + "y" * 9000},
            {"Cookie": "\xff\xfe;;;==" + self.token},
            {"Sec-Fetch-Site": "cross-site"},
            {"X-" + "a" * 200: "b" * 3000},
            {"Range": "bytes=0-18446744073709551615"},
            {"Accept-Encoding": "x" * 2000},
        )
        path = self.rng.choice((*ROUTES, "/?token=wrong", f"/?token={self.token}", "/?" + "token=a&" * 50))
        return self.write("GET", path, headers=self.rng.choice(changes))

    def lie(self):
        """Lengths and encodings that are not so."""
        body = json.dumps(ACTIONS["set"]).encode()
        changes = (
            {"Content-Length": "5"},
            {"Content-Length": "99999999999"},
            {"Content-Length": "-1"},
            {"Content-Length": "9" * 5000},
            {"Content-Length": "\xb2"},
            {"Transfer-Encoding": "chunked"},
            {"Transfer-Encoding": "gzip, chunked"},
            {"Expect": "100-continue"},
        )
        return self.write("POST", "/api/set", body, self.rng.choice(changes))

    def upgrade(self):
        """A WebSocket handshake, whole or bent, and frames after it."""
        key = base64.b64encode(self.rng.randbytes(self.rng.choice((16, 16, 3)))).decode()
        headers = {
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Key": key,
            "Sec-WebSocket-Version": "13",
        }
        if self.rng.random() < 0.3:
            headers.pop(self.rng.choice(sorted(headers)))
        frames = self.rng.randbytes(self.rng.randint(0, 200))
        return self.write("GET", self.rng.choice(ROUTES), headers=headers) + frames

    def shout(self):
        noises = (
            self.rng.randbytes(self.rng.randint(1, 2000)),
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"\x16\x03\x01\x02\x00" + self.rng.randbytes(200),
            b"GET / HTTP/9.9\r\n\r\n",
            b"GET /\r\n\r\n",
            b"\r\n" * 500,
            b"GET " + b"/" * 70_000 + b" HTTP/1.1\r\n\r\n",
            self.ask()[: self.rng.randint(1, 60)],
        )
        return self.rng.choice(noises)

    def write(self, method, path, body=b"", headers=None):
        path = f"/{self.token if self.rng.random() < 0.8 else self.token[:-1]}{path}"
        fields = {
            "Host": self.host,
            "Connection": "close",
            **({"Origin": f"http://{self.host}", "Content-Type": "application/json"} if method == "POST" else {}),
            **({"Content-Length": str(len(body))} if body else {}),
            **(headers or {}),
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1", "replace") + body


def send(host, request, time_limit=600.0):
    """What the server answers until it closes; b"" where it hangs up without a word, None where it does neither."""
    name, port = host.rsplit(":", 1)
    answer = b""
    try:
        with socket.create_connection((name, int(port)), timeout=time_limit) as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(1 << 16):
                answer += part
    except TimeoutError:
        return None
    except OSError:  # reset: it did not like what it read
        pass
    return answer
