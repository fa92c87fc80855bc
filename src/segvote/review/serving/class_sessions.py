"""One page for every class of a run on several classes; each begins to count votes when it is first opened."""

from __future__ import annotations

import shlex
from collections.abc import MutableMapping
from typing import Any

from starlette.applications import Starlette
from starlette.responses import RedirectResponse
from starlette.routing import Mount, Route

from segvote.review.serving.routes import make_app
from segvote.review.session import Session
from segvote.run.classes import ClassRuns


class ClassSessions:
    """The sessions of all classes, in the order of their numbers."""

    def __init__(self, runs: ClassRuns) -> None:
        root, out = str(runs.record["input"]), str(runs.folder.path)
        command = shlex.join(["segvote", "annotate", "--classes", root, "-o", out])
        self.sessions = [Session(run, runs.names, number, command) for number, run in enumerate(runs.runs.values())]

    def start(self) -> None:
        """Nothing: a class is voted on when its page is opened."""

    def close_streams(self) -> None:
        for session in self.sessions:
            session.close_streams()

    def close(self) -> None:
        for session in self.sessions:
            session.close()


def make_class_app(classes: ClassSessions) -> Starlette:
    """The application behind the guard: ``classes/0/`` and so on; the root leads to the first."""
    mounts = [Mount(f"/classes/{number}", _StartedApp(session)) for number, session in enumerate(classes.sessions)]
    return Starlette(routes=[Route("/", lambda request: RedirectResponse("classes/0/", 303)), *mounts])


class _StartedApp:
    """The application of one class; opening its page starts its engine."""

    def __init__(self, session: Session) -> None:
        self.session, self.app = session, make_app(session)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["path"].endswith("/api/run"):
            self.session.start()
        await self.app(scope, receive, send)
