"""A machine-learning backend for Label Studio: a small web server that Label Studio asks for masks of its tasks.

    python -m segvote.integrations.label_studio out --port 9090

It prints the address to give to Label Studio: with a secret in it, because requests for masks can make it read
pictures of this machine and fetch other addresses. Needs ``pip install label-studio-ml``. The project's page needs an
``Image`` and ``BrushLabels`` for it, with a label called like the run's (``--label``), or like the classes of a run on
several; `segvote export --format label-studio` writes such a page.
"""

from __future__ import annotations

import argparse
import hmac
import os
import secrets
from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np

from segvote import __version__
from segvote.errors import BadInputError, MissingPartError
from segvote.integrations import FALSE_POSITIVE_RATE, open_predictors
from segvote.io.encodings.rle import encode_brush
from segvote.io.images import read_image
from segvote.masks.objects import list_objects
from segvote.pipeline.predictor import Predictor

LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def create_app(
    model: str,
    false_positive_rate: float = FALSE_POSITIVE_RATE,
    token: str | None = None,
    hosts: Collection[str] = (),
    **options: Any,
) -> Any:
    """The web application, for any WSGI server.

    Parameters
    ----------
    model : str
        A run folder, its model folder, or the folder of a run on several classes.
    false_positive_rate : float
        Largest share of images without the object that may be predicted to show it.
    token : str, optional
        See `TokenGuard`; without one every client may ask for masks: use it behind another guard only.
    hosts : collection of str
        See `TokenGuard`.
    **options
        Options of Label Studio's own ``init_app``.
    """
    backend = make_backend(model, false_positive_rate)
    from label_studio_ml.api import init_app

    application = init_app(model_class=backend, **options)
    if token is not None:
        application.wsgi_app = TokenGuard(application.wsgi_app, token, hosts)
    return application


def make_backend(model: str, false_positive_rate: float = FALSE_POSITIVE_RATE) -> type:
    """The class that Label Studio's server makes one object of for each project."""
    base = _import_base()
    predictors = open_predictors(model, false_positive_rate)

    class SegvoteBackend(base):  # type: ignore[misc, valid-type]
        """Masks of tasks, by a learned decision."""

        def predict(self, tasks: list[dict], context: Any = None, **kwargs: Any) -> list[dict]:
            names = find_names(self.parsed_label_config)
            return [
                predict_task(predictors, read_image(self.get_local_path(task["data"][names[2]])), names)
                for task in tasks
            ]

    return SegvoteBackend


def find_names(config: dict[str, Any]) -> tuple[str, str, str]:
    """Names on the project's page: of the brush, of the image, and the key of a task's data.

    `config` is the page as Label Studio parses it: names to ``type``, ``to_name`` and ``inputs``.
    """
    for name, control in config.items():
        if control["type"].lower() == "brushlabels":
            return name, control["to_name"][0], control["inputs"][0]["value"]
    raise BadInputError(
        f"expected BrushLabels on the page of the Label Studio project, found {', '.join(config) or 'nothing'}; "
        "`segvote export --format label-studio` writes such a page"
    )


def predict_task(predictors: dict[str, Predictor], image: np.ndarray, names: tuple[str, str, str]) -> dict[str, Any]:
    """The prediction for a (h, w, 3) uint8 image as Label Studio stores it; no result where it shows nothing.

    Predictors by their labels; for `names` see `find_names`.
    """
    results, probabilities = [], [0.0]
    for label, predictor in predictors.items():
        prediction, mask = predictor.judge(image)
        probabilities.append(prediction.probability)
        for one in list_objects(mask, predictor.model.drawing.objects) if mask.any() else ():
            result = {
                "from_name": names[0],
                "to_name": names[1],
                "type": "brushlabels",
                "original_height": one.shape[0],
                "original_width": one.shape[1],
                "image_rotation": 0,
                "score": prediction.probability,
                "value": {"brushlabels": [label], "format": "rle", "rle": encode_brush(one)},
            }
            results.append(result)
    return {"model_version": f"segvote {__version__}", "result": results, "score": max(probabilities)}


def _import_base() -> Any:
    try:
        from label_studio_ml.model import LabelStudioMLBase
    except ImportError as error:
        raise MissingPartError(f"Label Studio's package is missing ({error}); pip install label-studio-ml") from error
    return LabelStudioMLBase


class TokenGuard:
    """WSGI middleware: a request whose path begins with the token is passed on without it, any other is refused.

    Label Studio appends ``/predict`` and the like to the address it was given, so the token is a part of that address.
    `hosts` are the names under which the server may be called; empty: any. This stops pages of other sites whose own
    name points to this machine (DNS rebinding).
    """

    def __init__(self, application: Application, token: str, hosts: Collection[str] = ()) -> None:
        self._application, self._token, self._hosts = application, token, hosts

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        first, _, rest = str(environ.get("PATH_INFO", "")).removeprefix("/").partition("/")
        name = str(environ.get("HTTP_HOST", ""))
        host = name if name.endswith("]") else name.rpartition(":")[0] or name
        is_known_host = not self._hosts or host.lower() in self._hosts
        if not is_known_host or not hmac.compare_digest(first.encode(), self._token.encode()):
            start_response("403 Forbidden", [("Content-Type", "text/plain; charset=utf-8")])
            return [b"give the address that was printed when the server started\n"]
        environ["SCRIPT_NAME"] = f"{environ.get('SCRIPT_NAME', '')}/{first}"
        environ["PATH_INFO"] = f"/{rest}"
        return self._application(environ, start_response)


def main() -> None:
    """Serve from the command line."""
    parser = argparse.ArgumentParser(description="Masks for Label Studio.")
    parser.add_argument("model", help="run folder, its model folder, or the folder of a run on several classes")
    parser.add_argument(
        "--false-positive-rate", type=float, default=FALSE_POSITIVE_RATE, help="share of images without the object"
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=9090)
    secret = os.environ.get("SEGVOTE_TOKEN")
    parser.add_argument("--token", default=secret, help="secret in the address; default: SEGVOTE_TOKEN, or a new one")
    arguments = parser.parse_args()
    token = arguments.token or secrets.token_urlsafe(24)
    hosts = LOCAL_HOSTS if arguments.host in LOCAL_HOSTS else ()
    application = create_app(arguments.model, arguments.false_positive_rate, token, hosts)
    print(f"address for Label Studio: http://{arguments.host}:{arguments.port}/{token}", flush=True)
    application.run(arguments.host, arguments.port)


if __name__ == "__main__":
    main()
