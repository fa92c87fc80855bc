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
    """Annotations of a COCO, CVAT, Label Studio or labelme file, a folder of COCO or labelme files, or a ZIP of one."""
    path = Path(path)
    if path.is_dir():
        subsets = sorted(path.glob("annotations/instances_*.json"))
        annotations = itertools.chain.from_iterable(map(_read_file, subsets)) if subsets else read_labelme(path)
    elif not path.is_file():
        raise BadInputError(f"expected a file of annotations, got {path}, which is absent; check the name")
    else:
        annotations = _read_archive(path) if zipfile.is_zipfile(path) else _read_file(path)
    return _name_file(annotations, path)


def _name_file(annotations: Iterator[Annotation], path: Path) -> Iterator[Annotation]:
    """The same annotations; errors of decoders name the file."""
    try:
        yield from annotations
    except BadInputError as error:
        if str(path) in str(error):
            raise
        raise BadInputError(f"{path}: {error}") from error


def _read_file(path: Path) -> Iterator[Annotation]:
    try:
        with path.open("rb") as file:
            start = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    except OSError as error:
        raise BadInputError(f"cannot read {path} ({error.strerror}); check the file and repeat the command") from error
    if start == b"<":
        return read_cvat_xml(path)
    data = read_json(path)
    if isinstance(data, dict) and {"images", "annotations"} <= data.keys():
        return parse_coco(data, str(path))
    if isinstance(data, dict) and "shapes" in data:
        return read_labelme(path)
    if isinstance(data, list) and all(isinstance(task, dict) and "data" in task for task in data):
        return parse_label_studio(data, str(path))
    raise BadInputError(f"{path}: expected annotations of COCO, CVAT, Label Studio or labelme, got none of these")


def _read_archive(path: Path) -> Iterator[Annotation]:
    with open_scratch() as folder:
        target = folder / "annotations"  # the name in the archive is untrusted
        try:
            with zipfile.ZipFile(path) as archive:
                member = _find_member(archive)
                with explain_failure(target), target.open("wb") as file, archive.open(member) as source:
                    shutil.copyfileobj(source, file)
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError, IndexError) as error:
            raise BadInputError(f"{path}: the archive cannot be unpacked ({error}); unpack it yourself") from error
        yield from _read_file(target)


def _find_member(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """The only file of annotations; `ValueError` where there is none, or where it would unpack to too many bytes."""
    paths = {member: PurePosixPath(member.filename) for member in archive.infolist() if not member.is_dir()}
    members = [
        member
        for member, path in paths.items()
        if path.suffix.lower() in (".json", ".xml") and not path.name.startswith((".", "_"))
    ]
    if len(members) != 1:
        raise ValueError(f"expected one file of annotations, got {len(members)}")
    (member,) = members
    if member.file_size > MAX_BYTES or member.file_size > _MAX_RATIO * max(member.compress_size, 1024):
        raise ValueError(f"it would grow to {member.file_size} bytes")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("an unusual compression")
    return member
