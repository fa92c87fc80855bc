"""A stage on which accidents happen: commands run in forked processes, and something goes wrong at an exact moment.

Started as a program, it imports segvote once, then takes one JSON line per order and answers with one. A moment is one
of the things a process does to the file system (it opens a file for writing, renames, removes, makes a folder),
counted by an audit hook; so that "killed at the ninth moment" means the same on every machine.
"""

import ctypes
import errno
import functools
import itertools
import json
import os
import resource
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

    def wait(self, started, time_limit=1200):
        """Until it ends: exit code (negative: the signal), output, errors, number of moments it had, seconds."""
        return self._order({"wait": {**started, "time_limit": time_limit}})

    def run(self, *arguments, time_limit=1200, **fault):
        return self.wait(self.start(*arguments, **fault), time_limit)

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
    limit = order["started"] + order["time_limit"]
    hung = False
    while True:
        found, status = os.waitpid(order["pid"], os.WNOHANG)
        if found:
            break
        if not hung and time.monotonic() > limit:
            hung = True
            os.kill(order["pid"], signal.SIGKILL)
        time.sleep(0.002)
    texts = {name: _read(order[name]) for name in ("output", "errors")}
    n_moments = int(_read(order["moments"]) or 0)
    shutil.rmtree(Path(order["output"]).parent)
    code = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - order["started"]
    return {"code": code, "hung": hung, "seconds": seconds, "moments": n_moments, **texts}


def _read(path):
    return Path(path).read_text(errors="replace")


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
    is_moment = functools.partial(_is_look, details["below"]) if kind == "late" else _is_write

    def watch(event, arguments):
        if not is_moment(event, arguments):
            return
        number = next(counter)
        frees_room = kind == "full" and event in ("os.remove", "sqlite3.connect")  # the latter writes nothing yet
        if happen is not None and number >= moment >= 0 and not frees_room:
            happen(number == moment, *arguments[:1])

    sys.addaudithook(watch)
    return counter


def _is_write(event, arguments):
    if event == "open":
        return isinstance(arguments[2], int) and bool(arguments[2] & WRITING) and arguments[0] != os.devnull
    return event in MOMENTS


def _is_look(below, event, arguments):
    """Whether the process asks for a file below a folder, or opens it for reading."""
    is_look = event == "stage.look" or (event == "open" and not _is_write(event, arguments))
    return is_look and isinstance(arguments[0], str) and arguments[0].startswith(below)


def _send(number):
    return lambda is_first, path: os.kill(os.getpid(), number) if is_first else None


def _kill(seconds=None):
    """At the moment, or after some seconds."""
    if seconds is not None:
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL))
        timer.daemon = True
        timer.start()
    return _send(signal.SIGKILL)


def _fill_disk():
    def refuse(is_first, path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return refuse


def _delay(below, n_looks=3):
    """As on NFS: a file that another process wrote is not visible yet to the next looks at it; own files are."""
    late, own, stat = {}, set(), os.stat

    def look(path, *arguments, **keywords):
        if isinstance(path, str | os.PathLike):
            sys.audit("stage.look", os.fspath(path))
        return stat(path, *arguments, **keywords)

    def note_own(event, arguments):
        if event in ("os.rename", "os.mkdir") or _is_write(event, arguments):
            own.add(str(arguments[1 if event == "os.rename" else 0]))

    def hide(is_first, path):
        if is_first:
            late[path] = n_looks
        if late.get(path, 0) > 0 and path not in own:
            late[path] -= 1
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)

    os.stat = look
    sys.addaudithook(note_own)
    return hide


def _limit_files(n_bytes):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))


def _lose_privileges():
    """Root without its capabilities: the owner's permission bits count for it too."""
    if os.geteuid() == 0:
        header = struct.pack("Ii", LINUX_CAPABILITY_VERSION_3, 0)
        assert ctypes.CDLL(None).capset(header, bytes(24)) == 0


def _jump(seconds):
    real = time.time

    def jump(is_first, path):
        time.time = lambda: real() + seconds

    return jump


def _change(path, how):
    return lambda is_first, _: change_input(Path(path), how) if is_first else None


def change_input(path, how):
    """Do to an input what other programs do: remove it, put a folder or other content in its place, cut it."""
    if how == "truncate":
        os.truncate(path, 20)
        return
    path.unlink()
    if how == "folder":
        path.mkdir()
    elif how == "replace":
        from PIL import Image

        Image.new("RGB", (90, 50), "purple").save(path, format="PNG")
    elif how == "fifo":
        os.mkfifo(path)


ACCIDENTS = {
    "kill": _kill,
    "interrupt": lambda: _send(signal.SIGINT),
    "pause": lambda: _send(signal.SIGSTOP),  # until the test lets it go on
    "full": _fill_disk,
    "late": _delay,
    "limit": _limit_files,
    "no privileges": _lose_privileges,
    "clock": _jump,
    "change": _change,
}

if __name__ == "__main__":
    serve()
