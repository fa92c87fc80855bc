"""The description that PyPI shows: README.md, with links that resolve there.

Links of the README are relative, so that they work in every clone. PyPI has no files beside a description: there a
relative link becomes one below the `Source` address of ``[project.urls]``. While none is declared, it becomes its own
text, and a picture is left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\[\]]*)\]\((?![a-z]+:|#)(?P<target>[^()\s]+)\)")
WHERE = "\nThe pages named above are in the folder `docs` of the source archive.\n"


def format_description(readme: str, source: str | None = None) -> str:
    """The README with no link that is relative.

    Parameters
    ----------
    readme
        Text of README.md.
    source
        Address below which the files of the repository are found, such as ``https://host/project/raw/main``; None:
        there is none.
    """
    if source is None:
        without_pictures = re.sub(r"^!\[[^\]]*\]\((?![a-z]+:)[^)]*\)\n+", "", readme, flags=re.MULTILINE)
        return LINK.sub(lambda found: found["text"], without_pictures) + WHERE
    return LINK.sub(
        lambda found: f"{found['picture']}[{found['text']}]({source.rstrip('/')}/{found['target']})", readme
    )


class DescriptionHook(MetadataHookInterface):
    """Called by hatchling when it writes the metadata of the wheel and of the source archive."""

    def update(self, metadata: dict[str, Any]) -> None:
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = format_description(readme, metadata.get("urls", {}).get("Source"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
