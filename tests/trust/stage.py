"""Commands in forked processes that fail at an exact moment.

Started as a program, it imports segvote once, then takes one JSON line per order and answers with one. A moment is a
change of the file system (a file opened for writing, a rename, a removal, a new folder), counted by an audit hook:
"killed at the ninth moment" means the same on every machine.
"""

import ctypes
import errno
import itertools
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
MOMENTS = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "sqlite3.connect"}
QUIET = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "COLUMNS": "200"}
LINUX_CAPABILITY_VERSION_3 = 0x20080522


class Stage:
    """The side of the test: hands orders to the program."""

    def __init__(self):
        command = [sys.executable, __file__]
        self._cache = tempfile.TemporaryDirectory(prefix="stage-cache-")  # of object stores
        environment = {**os.environ, **QUIET, "SEGVOTE_CACHE": self._cache.name}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def start(self, *arguments, **fault):
        """Start a command; returns its process id and the files of its output and errors."""
        order = {"arguments": [str(argument) for argument in arguments], "fault": fault}
        return self._order({"start": order})

    def wait(self, started):
        """Until it ends: exit code (negative: the signal), output, errors, number of moments, seconds."""
        return self._order({"wait": started})

    def run(self, *arguments, **fault):
        return self.wait(self.start(*arguments, **fault))

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
        self._cache.cleanup()

    def _order(self, order):
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


# The side of the program.


def serve():
    _warm_up()
    for line in sys.stdin:
        [(name, order)] = json.loads(line).items()
        answer = {"start": _start, "wait": _wait}[name](order)
        print(json.dumps(answer), flush=True)


def _warm_up():
    """Import what the commands import, so that a forked process has it already."""
    import faiss  # noqa: F401
    import safetensors.numpy  # noqa: F401
    import sklearn.cluster  # noqa: F401
    import uvicorn  # noqa: F401

    import segvote._api
    import segvote.evaluation.evaluate
    import segvote.report
    import segvote.report.experiments
    import segvote.review.serving.routes
    import segvote.steps.export
    import segvote.steps.importing
    from segvote.cli.app import load_commands

    load_commands()
    for registry in (segvote.VOTERS, segvote.SEGMENTERS):
        for name in registry:
            registry[name]


def _start(order):
    folder = tempfile.mkdtemp(prefix="stage-")
    files = {name: f"{folder}/{name}" for name in ("output", "errors", "moments")}
    for path in files.values():
        Path(path).touch()
    child = os.fork()
    if child == 0:
        _perform(order, files)
    return {"pid": child, "started": time.monotonic(), **files}


def _wait(order):
    status = os.waitpid(order["pid"], 0)[1]
    seconds = time.monotonic() - order["started"]
    texts = {name: Path(order[name]).read_text(errors="replace") for name in ("output", "errors", "moments")}
    shutil.rmtree(Path(order["output"]).parent)
    code, n_moments = os.waitstatus_to_exitcode(status), int(texts["moments"] or 0)
    return {**texts, "code": code, "seconds": seconds, "moments": n_moments}


def _perform(order, files):
    """The child: never returns."""
    os.setsid()
    for number, name in ((1, "output"), (2, "errors")):
        os.dup2(os.open(files[name], os.O_WRONLY), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    code, report = 1, os.open(files["moments"], os.O_WRONLY)
    try:
        counter = _prepare(**order["fault"])
        code = _run(order["arguments"])
        os.write(report, str(next(counter)).encode())
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _run(arguments):
    from segvote.cli.app import run_app

    sys.argv = ["segvote", *arguments]
    try:
        run_app()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return 0


def _prepare(kind="", moment=-1, **details):
    """Arrange for the accident; returns the counter of moments."""
    counter = itertools.count()
    happen = ACCIDENTS[kind](**details) if kind else None

    def watch(event, arguments):
        is_write = event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING
        if event not in MOMENTS and not (is_write and arguments[0] != os.devnull):
            return
        number = next(counter)
        frees_room = kind == "full" and event in ("os.remove", "sqlite3.connect")  # the latter writes nothing yet
        if happen is not None and number >= moment >= 0 and not frees_room:
            happen(number == moment)

    sys.addaudithook(watch)
    return counter


def _send(number):
    return lambda is_first: os.kill(os.getpid(), number) if is_first else None


def _kill(seconds=None):
    """At the moment, or after some seconds."""
    if seconds is not None:
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL))
        timer.daemon = True
        timer.start()
    return _send(signal.SIGKILL)


def _fill_disk():
    def refuse(is_first):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return refuse


def _lose_privileges():
    """Root without its capabilities: the owner's permission bits count for it too."""
    if os.geteuid() == 0:
        header = struct.pack("Ii", LINUX_CAPABILITY_VERSION_3, 0)
        assert ctypes.CDLL(None).capset(header, bytes(24)) == 0


def _change(path, how):
    """An input is removed, truncated, or replaced by another image or a pipe."""
    from PIL import Image

    def change(is_first):
        if is_first:
            content = Path(path).read_bytes()
            Path(path).unlink()
            if how == "replace":
                Image.new("RGB", (90, 50), "purple").save(path, format="PNG")
            elif how == "truncate":
                Path(path).write_bytes(content[:20])
            elif how == "pipe":
                os.mkfifo(path)

    return change


ACCIDENTS = {
    "kill": _kill,
    "interrupt": lambda: _send(signal.SIGINT),
    "pause": lambda: _send(signal.SIGSTOP),  # until the test lets it go on
    "full": _fill_disk,
    "no privileges": _lose_privileges,
    "change": _change,
}

if __name__ == "__main__":
    serve()
