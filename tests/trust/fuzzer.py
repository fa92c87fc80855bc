"""Random requests as raw bytes for a socket, most of them with the right token."""

import json
import socket
from urllib.parse import quote

from nonsense import STRANGE

ROUTES = (
    *(
        "/",
        "/static/app.js",
        "/api/run",
        "/api/status",
        "/api/update/0",
        "/api/doctor",
        "/api/alternatives",
        "/api/alternatives/1/0",
        "/api/images/0/picture",
    ),
    *("/api/images/1/thumb", "/api/images/2/map", "/api/images/0/mask", "/api/images/1/small-mask"),
    *("/api/alternatives", "/api/alternatives/1/0", "/api/images/0/segments/1/crop", "/api/images/0/segments/1/votes"),
)
ACTIONS = {
    "set": {"bag": 0, "segments": [0, 1], "value": 1},
    "accept": {"bags": [1], "value": True},
    "move": {"bags": [1], "bag_label": "without"},
    "paint": {"bag": 0, "tool": "brush", "points": [5, 5, 9, 9], "radius": 2, "snap": True, "value": 1},
    "extent": {"bags": [], "level": 3},
    "alternative": {"number": 1},
    "undo": {"expected": 1},
    "redo": {"expected": 1},
}
STARTS = ("/static/", "/api/images/0/", "/api/images/", "/", "/static/%2e%2e/", "//", "/?token=", "/?" + "a&" * 20)
OUTSIDE = ("../../../../etc/passwd", "..%2f..%2f..%2fetc%2fpasswd", "/etc/passwd", "....//....//run.json", "run.json")
NUMBERS = ("0", "5", "6", "-1", "007", "9" * 20, "9" * 5000, "1e3", "0x1", "\u0663", "1;2", "%31", "None")
METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "\x01", "G" * 5000)
BODIES = (b"[" * 100_000, b"9" * 5000, b'{"bag": NaN}', b"", b"\xff\xfe{")
# Headers that are foreign, too long, or do not fit the body.
HEADERS = (
    *(("Host", host) for host in ("evil.example", "127.0.0.1.evil.example", "127.0.0.1:99999", "[::1", "")),
    *(("Origin", "http://evil.example"), ("Origin", "null"), ("Sec-Fetch-Site", "cross-site")),
    *(("Cookie", "x=" + "y" * 9000), ("X-" + "a" * 200, "b" * 3000), ("Accept-Encoding", "x" * 2000)),
    *(("Range", "bytes=0-18446744073709551615"), ("Expect", "100-continue")),
    *(("Content-Length", length) for length in ("5", "99999999999", "-1", "9" * 5000, "\xb2")),
    *(("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "gzip, chunked")),
    *(("Content-Type", kind) for kind in ("text/plain", "application/x-www-form-urlencoded", "")),
)
NOISE = (
    *(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00", b"GET / HTTP/9.9\r\n\r\n", b"GET /\r\n\r\n"),
    *(b"\r\n" * 500, b"GET " + b"/" * 70_000 + b" HTTP/1.1\r\n\r\n", b"GET / HT"),
)


class Fuzzer:
    """Makes requests for the server of a host and a token, by a ``random.Random``."""

    def __init__(self, host, token, rng):
        self.host, self.token, self.rng = host, token, rng

    def make(self):
        """One request."""
        kinds = (self._ask, self._wander, self._act, self._act, self._shout)
        return self.rng.choice(kinds)()

    def _ask(self):
        path = self.rng.choice(ROUTES)
        for number in "012":
            if self.rng.random() < 0.5:
                path = path.replace(f"/{number}/", f"/{quote(self.rng.choice(NUMBERS), safe='%;')}/", 1)
        return self._write("GET", path.replace("=0", "=" + quote(self.rng.choice(NUMBERS))))

    def _wander(self):
        return self._write(self.rng.choice(METHODS), self.rng.choice(STARTS) + self.rng.choice(OUTSIDE))

    def _act(self):
        """An action of the page; half of them with strange values, or another body."""
        name = self.rng.choice(sorted(ACTIONS))
        message = {**ACTIONS[name]}
        if self.rng.random() < 0.5:
            for key in self.rng.sample(sorted(message), self.rng.randint(1, len(message))):
                message[key] = self.rng.choice((*STRANGE, "\ud800", 10**400, [2**70] * 9))
        body = json.dumps(message)
        bodies = (body.encode(), body.encode(), body.encode("utf-16"), f"[{body}]".encode(), self.rng.choice(BODIES))
        return self._write("POST", f"/api/{name}", self.rng.choice(bodies))

    def _shout(self):
        return self.rng.choice(NOISE) + self.rng.randbytes(self.rng.randrange(2000))

    def _write(self, method, path, body=b""):
        token = self.token if self.rng.random() < 0.8 else self.token[:-1]
        fields = {"Host": self.host, "Connection": "close"}
        if method == "POST":
            fields |= {"Origin": f"http://{self.host}", "Content-Type": "application/json"}
        fields |= {"Content-Length": str(len(body))} if body else {}
        fields |= dict([self.rng.choice(HEADERS)] if self.rng.random() < 0.3 else [])
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        return f"{method} /{token}{path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1", "replace") + body


def send(host, request, time_limit=600.0):
    """What the server answers until it closes; b"" where it hangs up, None where it does neither."""
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
    except OSError:  # reset
        pass
    return answer
