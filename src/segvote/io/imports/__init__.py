"""Readers of annotations from other tools; the format is recognised by content. CVAT's archives are opened too."""

from __future__ import annotations

import itertools
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from segvote.errors import BadInputError
from segvote.io.files import explain_failure, open_scratch
from segvote.io.imports.coco import parse_coco
from segvote.io.imports.cvat import read_cvat_xml
from segvote.io.imports.label_tools import parse_label_studio, read_labelme
from segvote.io.tables import MAX_BYTES, read_json
from segvote.types import Annotation

_MAX_RATIO = 1000  # an archive that unpacks to more than this many times its size is not a text of annotations


def read_any(path: Path | str) -> Iterator[Annotation]:
    """Annotations of a COCO, CVAT, Label Studio or labelme file, a folder of COCO or labelme files, or a ZIP of one.

    The format is recognised by content, not by name.
    """
    return _name_file(_open_any(Path(path)), Path(path))


def _name_file(annotations: Iterator[Annotation], path: Path) -> Iterator[Annotation]:
    """The same annotations; errors of decoders name the file."""
    try:
        yield from annotations
    except BadInputError as error:
        if str(path) in str(error):
            raise
        raise BadInputError(f"{path}: {error}") from error


def _open_any(path: Path) -> Iterator[Annotation]:
    if path.is_dir():
        subsets = sorted(path.glob("annotations/instances_*.json"))
        return itertools.chain.from_iterable(map(_read_file, subsets)) if subsets else read_labelme(path)
    if not path.is_file():
        raise BadInputError(f"expected a file of annotations, got {path}, which is absent; check the name")
    if zipfile.is_zipfile(path):
        return _read_archive(path)
    return _read_file(path)


def _read_file(path: Path) -> Iterator[Annotation]:
    try:
        with path.open("rb") as file:
            start = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    except OSError as error:
        raise BadInputError(f"cannot read {path} ({error.strerror}); check the file and repeat the command") from error
    if start == b"<":
        return read_cvat_xml(path)
    return _read_json_of_any_kind(path)


def _read_json_of_any_kind(path: Path) -> Iterator[Annotation]:
    data = read_json(path)
    if isinstance(data, dict) and {"images", "annotations"} <= data.keys():
        return parse_coco(data, str(path))
    if isinstance(data, dict) and "shapes" in data:
        return read_labelme(path)
    if isinstance(data, list) and all(isinstance(task, dict) and "data" in task for task in data):
        return parse_label_studio(data, str(path))
    raise BadInputError(f"{path}: expected annotations of COCO, CVAT, Label Studio or labelme, got none of these")


def _read_archive(path: Path) -> Iterator[Annotation]:
    with _open_archive(path) as archive, open_scratch() as folder:
        members = [member for member in archive.infolist() if _is_annotations(member)]
        if len(members) != 1:
            raise BadInputError(
                f"{path}: expected one file of annotations in the archive, got {len(members)}; unpack it"
            )
        yield from _read_file(_unpack(archive, members[0], folder, path))


def _open_archive(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise BadInputError(f"{path}: the archive is damaged ({error}); fetch it again") from error


def _is_annotations(member: zipfile.ZipInfo) -> bool:
    name = PurePosixPath(member.filename)
    return (
        bool(member.filename)
        and not member.is_dir()
        and name.suffix.lower() in (".json", ".xml")
        and not name.name.startswith((".", "_"))
    )


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path, path: Path) -> Path:
    """The member under a name of ours: the one in the archive is untrusted."""
    if member.file_size > MAX_BYTES or member.file_size > _MAX_RATIO * max(member.compress_size, 1024):
        raise BadInputError(f"{path}: {member.filename} would unpack to {member.file_size} bytes; unpack it yourself")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise BadInputError(f"{path}: {member.filename} is packed in an unusual way; unpack it yourself")
    target = folder / "annotations"
    try:
        with explain_failure(target), target.open("wb") as file, archive.open(member) as source:
            shutil.copyfileobj(source, file)
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, NotImplementedError) as error:
        raise BadInputError(f"{path}: the archive cannot be unpacked ({error}); unpack it yourself") from error
    return target
