"""One folder of an object store (``s3://bucket/folder`` and every other address that fsspec knows): list, get, put.

Names that a store gives are a stranger's: none may lead out of the folder it is fetched to. What a store, a network or
a missing package has to say becomes one of segvote's errors. Nothing here is reached unless a user gave an address.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from segvote.errors import BadInputError, MissingPartError, UnwritableFileError
from segvote.io.atomic import atomic_path
from segvote.io.remote.addresses import clean_url, stays_below

# Bytes of a file, and what changes with its content: all that this store knows of these.
Version = list[Any]
_MARKS = ("ETag", "md5Hash", "etag", "content_md5", "mtime", "LastModified", "last_modified", "updated", "created")


class Store:
    """One folder of a store, or one file; opened by its address."""

    def __init__(self, url: str) -> None:
        self.url = clean_url(url)
        protocol = self.url.split("://", 1)[0]
        self._files, self._root = _open_files(self.url, protocol)
        self._is_local = protocol in ("file", "local")

    def list_files(self) -> dict[str, Version]:
        """Path below the folder to what is there, sorted, hidden ones left out; the empty path where it is a file."""
        with self._explain("read"):
            self._files.invalidate_cache()
            found = self._files.find(self._root, detail=True)
        # Some tools keep an empty file called like a folder in its place.
        kept = {path: info for path, info in found.items() if info["type"] == "file" and not path.endswith("/")}
        versions = {self._get_name(path): _get_version(info) for path, info in sorted(kept.items())}
        versions = {name: version for name, version in versions.items() if not _is_hidden(name)}
        _check_names(versions, self.url)
        return versions

    def get(self, targets: Mapping[str, Path]) -> None:
        """Fetch files, by their names, to paths of this machine."""
        for folder in {path.parent for path in targets.values()}:
            folder.mkdir(parents=True, exist_ok=True)
        with self._explain("read"):
            self._files.get([self._join(name) for name in targets], [str(path) for path in targets.values()])

    def put(self, sources: Mapping[str, Path]) -> None:
        """Send files of this machine under their names.

        An object appears when it is whole; a file of a mounted disk grows in sight of all unless it is renamed at last.
        """
        targets = [self._join(name) for name in sources]
        with self._explain("write"):
            if self._is_local:
                for source, target in zip(sources.values(), targets, strict=True):
                    _copy_whole(source, Path(target))
                return
            if not self._files.async_impl:  # those that are have no folders, only names with slashes in them
                for folder in {target.rpartition("/")[0] for target in targets}:
                    self._files.makedirs(folder, exist_ok=True)
            self._files.put([str(path) for path in sources.values()], targets)

    def remove(self, name: str) -> None:
        """Take a file away; one that is gone already is no error."""
        with self._explain("write"), contextlib.suppress(FileNotFoundError):
            self._files.rm_file(self._join(name))

    def _join(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    def _get_name(self, path: str) -> str:
        if path != self._root and not path.startswith(f"{self._root}/"):
            raise BadInputError(f"{self.url} lists {path!r:.80}, which is not below it; check the store")
        return path[len(self._root) :].removeprefix("/")

    @contextlib.contextmanager
    def _explain(self, what: str) -> Iterator[None]:
        """Turn whatever a store's package raises, which has no common parent, into one line."""
        try:
            yield
        except MemoryError:
            raise
        except Exception as error:
            kind = UnwritableFileError if what == "write" else BadInputError
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise kind(
                f"cannot {what} {self.url} ({type(error).__name__}: {reason}); check the address, your rights to it "
                "and the network, then repeat the command"
            ) from error


def _open_files(url: str, protocol: str) -> tuple[Any, str]:
    try:
        import fsspec
        from fsspec.registry import known_implementations
    except ImportError as error:
        raise MissingPartError(f"{protocol}:// needs fsspec; install it: pip install 'segvote[stores]'") from error
    try:
        files, root = fsspec.core.url_to_fs(url)
    except ImportError as error:
        known = known_implementations.get(protocol, {}).get("class", "").split(".")[0]
        package = known if known not in ("", "fsspec") else error.name
        raise MissingPartError(f"{protocol}:// needs {package}; install it: pip install {package}") from error
    except ValueError as error:
        raise BadInputError(
            f"expected an address that fsspec knows (s3://, gs://, abfs://, …), got {protocol}:// ({error}); check it"
        ) from error
    return files, root.rstrip("/")


def _copy_whole(source: Path, target: Path) -> None:
    with atomic_path(target, durable=False) as temporary:
        shutil.copyfile(source, temporary)


def _get_version(info: dict[str, Any]) -> Version:
    return [int(info["size"] or 0), *(str(info[name]) for name in _MARKS if name in info)]


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") and part not in (".", "..") for part in name.split("/"))


def _check_names(names: Mapping[str, Version], url: str) -> None:
    for name in filter(None, names):
        if not stays_below(name):
            raise BadInputError(f"{url} holds {name!r:.80}, which cannot be a path below a folder; rename it there")
        if any(str(parent) in names for parent in PurePosixPath(name).parents[:-1]):
            raise BadInputError(f"{url} holds {name!r:.80} below what is a file, too; rename one of them there")
