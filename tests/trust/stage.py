"""Commands in forked processes that fail at an exact moment.

A server process has imported segvote once; every command is a fork of it. A moment is a change of the file system (a
file opened for writing, a rename, a removal, a new folder), counted by an audit hook: "killed at the ninth moment"
means the same on every machine.
"""

import ctypes
import errno
import itertools
import multiprocessing
import os
import shutil
import signal
import struct
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
MOMENTS = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "sqlite3.connect"}
FILES = ("output", "errors", "moments")
LINUX_CAPABILITY_VERSION_3 = 0x20080522
# Imported by the server process, so that a fork has them already.
PRELOADED = [
    *(
        "faiss",
        "pytest",
        "safetensors.numpy",
        "sklearn.cluster",
        "sklearn.linear_model",
        "sklearn.neighbors",
        "uvicorn",
    ),
    *("segvote.api", "segvote.cli.annotate", "segvote.cli.compare", "segvote.cli.export", "segvote.cli.predict"),
    *("segvote.evaluation.evaluate", "segvote.report.experiments"),
    *("segvote.review.serving.routes", "segvote.segmentation.ward"),
    *("segvote.pipeline.export", "segvote.pipeline.importing"),
]


class Stage:
    """Starts commands, each in a process group of its own."""

    def __init__(self):
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(PRELOADED)
        self._cache = tempfile.mkdtemp(prefix="stage-cache-")  # of object stores

    def start(self, *arguments, **fault):
        """Start a command; the returned process has a folder with its output and errors."""
        folder = Path(tempfile.mkdtemp(prefix="stage-"))
        for name in FILES:
            (folder / name).touch()
        words = [str(argument) for argument in arguments]
        process = self._context.Process(target=perform, args=(words, fault, folder, self._cache))
        process.folder, process.started = folder, time.monotonic()
        process.start()
        return process

    def wait(self, process):
        """Until it ends: exit code (negative: the signal), output, errors, number of moments, seconds."""
        process.join()
        seconds = time.monotonic() - process.started
        texts = {path.name: path.read_text(errors="replace") for path in process.folder.iterdir()}
        shutil.rmtree(process.folder)
        return {**texts, "moments": int(texts["moments"] or 0), "code": process.exitcode, "seconds": seconds}

    def run(self, *arguments, **fault):
        return self.wait(self.start(*arguments, **fault))

    def close(self):
        shutil.rmtree(self._cache)


def perform(arguments, fault, folder, cache):
    """The forked process: never returns."""
    os.setsid()
    os.environ.update(COLUMNS="200", SEGVOTE_CACHE=cache)
    files = {name: os.open(folder / name, os.O_WRONLY) for name in FILES}
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(files["output"], 1)
    os.dup2(files["errors"], 2)
    sys.stdout, sys.stderr = open(1, "w"), open(2, "w")  # noqa: SIM115
    code = 1
    try:
        counter = prepare(**fault)
        code = run(arguments)
        os.write(files["moments"], str(next(counter)).encode())
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def run(arguments):
    from segvote.cli.app import run_app

    sys.argv = ["segvote", *arguments]
    try:
        run_app()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return 0


def prepare(kind="", moment=-1, **details):
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


def send(number):
    return lambda is_first: os.kill(os.getpid(), number) if is_first else None


def kill(seconds=None):
    """At the moment, or after some seconds."""
    if seconds is not None:
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL))
        timer.daemon = True
        timer.start()
    return send(signal.SIGKILL)


def fill_disk():
    def refuse(is_first):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return refuse


def lose_privileges():
    """Root without its capabilities: the owner's permission bits count for it too."""
    if os.geteuid() == 0:
        header = struct.pack("Ii", LINUX_CAPABILITY_VERSION_3, 0)
        assert ctypes.CDLL(None).capset(header, bytes(24)) == 0


def change(path, how):
    """An input is removed, truncated, or replaced by another image or a pipe."""
    from PIL import Image

    def happen(is_first):
        if is_first:
            content = Path(path).read_bytes()
            Path(path).unlink()
            if how == "replace":
                Image.new("RGB", (90, 50), "purple").save(path, format="PNG")
            elif how == "truncate":
                Path(path).write_bytes(content[:20])
            elif how == "pipe":
                os.mkfifo(path)

    return happen


ACCIDENTS = {
    "kill": kill,
    "interrupt": lambda: send(signal.SIGINT),
    "pause": lambda: send(signal.SIGSTOP),  # until SIGCONT
    "full": fill_disk,
    "no privileges": lose_privileges,
    "change": change,
}
