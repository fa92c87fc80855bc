"""higra without its drawing functions: these import matplotlib and scipy.cluster, four fifths of the time it takes to
load, which every worker process would spend before its first image.

higra itself expects that either may be missing. Where they are loaded already, nothing is hidden.
"""

from __future__ import annotations

import sys
from typing import Any

ONLY_FOR_DRAWING = ("matplotlib.pyplot", "scipy.cluster.hierarchy")


def _import_higra() -> Any:
    hidden = [name for name in ONLY_FOR_DRAWING if name not in sys.modules]
    try:
        sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: not to be found
        import higra

        return higra
    finally:
        for name in hidden:
            sys.modules.pop(name, None)


hg = _import_higra()
