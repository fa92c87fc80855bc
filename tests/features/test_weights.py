"""Packages of weights: found by entry points, checked, listed."""

import base64
import hashlib

import pytest

from segvote.errors import DamagedFileError, MissingPartError
from segvote.features.networks.weights import find_weights, list_weights

CONTENTS = {"encoder.onnx": b"first", "decoder.onnx": b"second"}


def install(folder, contents, name="mobile-sam", package="segvote_mobile_sam"):
    """Lay out files as an installed wheel."""
    info = folder / f"{package}-0.1.0.dist-info"
    info.mkdir(parents=True)
    (folder / package).mkdir()
    rows = [f"{info.name}/METADATA,,", f"{info.name}/RECORD,,", f"{info.name}/licenses/LICENSE,,"]
    for file, content in contents.items():
        (folder / package / file).write_bytes(content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.append(f"{package}/{file},sha256={digest},{len(content)}")
    lines = ["Metadata-Version: 2.4", f"Name: segvote-{name}", "Version: 0.1.0", "License-Expression: Apache-2.0"]
    (info / "METADATA").write_text("\n".join(lines) + "\n")
    (info / "entry_points.txt").write_text(f"[segvote.weights]\n{name} = {package}\n")
    (info / "RECORD").write_text("\n".join(rows) + "\n")
    return folder / package


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of two small files in front of whatever is installed."""
    monkeypatch.syspath_prepend(tmp_path / "site")
    return install(tmp_path / "site", CONTENTS)


def test_files_are_found_sorted_by_name(package):
    assert find_weights("mobile-sam") == [package / "decoder.onnx", package / "encoder.onnx"]


@pytest.mark.usefixtures("package")
def test_installed_weights_are_listed_with_their_licence():
    found = next(one for one in list_weights() if one.name == "mobile-sam")
    assert (found.version, found.licence, found.n_bytes) == ("0.1.0", "Apache-2.0", 11)
    assert found.format() == "segvote-mobile-sam 0.1.0, 0 MB, Apache-2.0"


def test_changed_file_is_an_error(package):
    (package / "encoder.onnx").write_bytes(b"other")
    with pytest.raises(DamagedFileError, match=r"encoder\.onnx is not the file that was installed"):
        find_weights("mobile-sam")


def test_lost_file_is_an_error(package):
    (package / "decoder.onnx").unlink()
    with pytest.raises(DamagedFileError, match=r"decoder\.onnx, found none"):
        find_weights("mobile-sam")


def test_absent_package_names_the_extra(monkeypatch):
    monkeypatch.setattr("segvote.features.networks.weights.entry_points", lambda group: [])
    with pytest.raises(MissingPartError, match=r"pip install 'segvote\[sam\]'.*make weights"):
        find_weights("mobile-sam")
