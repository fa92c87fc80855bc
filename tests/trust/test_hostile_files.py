"""Untrusted files: no code runs, no name leads out of a folder, memory is bounded."""

import json
import os
import pickle
import shutil
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from msgspec import to_builtins
from torch_writer import join

from segvote import export
from segvote.errors import SegvoteError
from segvote.features.networks.backbone import BackboneFeatures
from segvote.features.networks.torch_file import read_torch_file
from segvote.inputs.bags import Bag
from segvote.inputs.label_maps import find_label_map, segment_by_map
from segvote.io.imports import read_any
from segvote.io.tables import write_json
from segvote.run.run_folder import RunFolder


class Attack:
    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call[0], self.call[1:]


def list_pickles(marker):
    """Pickles that would leave a file behind."""
    code = f"open({str(marker)!r}, 'w')"
    calls = [(os.system, f"touch {marker}"), (exec, code), (eval, code), (os.makedirs, str(marker))]
    return [pickle.dumps({"a": Attack(*call)}, protocol) for call in calls for protocol in (0, 2, 4)]


def make_npy(header, data=b""):
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def read_label_map(path):
    found = find_label_map(path.parent, Bag(f"with/{path.stem}.png", "with", path, ""))
    return segment_by_map(found, np.zeros((10, 10, 3), np.uint8), 5)


def test_pickles_that_run_code_are_refused(tmp_path):
    marker = tmp_path / "ran"
    for number, data in enumerate(list_pickles(marker)):
        plain, whole, model = (tmp_path / f"{number}.{kind}" for kind in ("pth", "whole.pth", "npy"))
        plain.write_bytes(data)
        whole.write_bytes(join(data, {}))
        model.write_bytes(make_npy(b"{'descr': '|O', 'fortran_order': False, 'shape': (), }", data))
        for read, path in ((read_torch_file, plain), (read_torch_file, whole), (read_label_map, model)):
            with pytest.raises(SegvoteError):
                read(path)
    assert not marker.exists()


def test_label_maps_that_are_programs_or_bombs_are_refused(tmp_path):
    contents = {
        "a.png": f"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n({tmp_path}/ran) (w) file\n".encode(),
        "b.npy": make_npy(b"{'descr': '|u1', 'fortran_order': False, 'shape': (1000000, 1000000), }"),
        "c.npy": make_npy(b"{'descr':"),
        "f.mat": b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + b"\x0f\x00\x00\x00\xff\xff\xff\x7fxx",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    np.save(tmp_path / "d.npy", np.full((10, 10), np.nan))
    os.mkfifo(tmp_path / "e.png")
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(SegvoteError):
            read_label_map(path)
    assert not (tmp_path / "ran").exists()


def make_onnx(path, location, place):
    """A network whose weights lie elsewhere: as a weight, a constant of a node, or in the graph inside a node."""
    from onnx import TensorProto, helper, numpy_helper

    weights = [numpy_helper.from_array(np.zeros((2, 3, 8, 8), np.float32), "w")]
    stolen = TensorProto(name="s", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", "0"), ("length", "16")):
        stolen.external_data.add(key=key, value=value)
    nodes = [helper.make_node("Conv", ["image", "w"], ["y"], strides=[8, 8])]
    constant = helper.make_node("Constant", [], ["c"], value=stolen)
    if place == "weight":
        weights.append(stolen)
    elif place == "constant":
        nodes.append(constant)
    else:
        inner = helper.make_graph([constant], "i", [], [helper.make_tensor_value_info("c", TensorProto.FLOAT, [4])])
        weights.append(numpy_helper.from_array(np.array(True), "yes"))
        nodes.append(helper.make_node("If", ["yes"], ["d"], then_branch=inner, else_branch=inner))
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, "h", "w"])
    answer = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2, "a", "b"])
    graph = helper.make_graph(nodes, "g", [image], [answer], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path.write_bytes(model.SerializeToString())


def test_networks_cannot_read_files_elsewhere(tmp_path):
    models = tmp_path / "models"
    models.mkdir()
    (tmp_path / "secret").write_bytes(bytes(64))
    os.mkfifo(models / "pipe")
    (models / "link").symlink_to(tmp_path / "secret")
    for location in ("../secret", str(tmp_path / "secret"), "link", "pipe", "sub/../../secret", "", "absent", "."):
        for place in ("weight", "constant", "inside"):
            make_onnx(models / "a.onnx", location, place)
            with pytest.raises(SegvoteError):
                BackboneFeatures(models / "a.onnx", size=16).get_key()
            with pytest.raises(SegvoteError):
                _ = BackboneFeatures(models / "a.onnx", size=16).blocks


EVIL_NAMES = ("../../outside", "/tmp/outside", "with/../../../outside", "with/..", "with/\0", "", "with/a/../../../b")


def test_names_in_a_record_cannot_lead_out(own_run, tmp_path):
    record = to_builtins(RunFolder(own_run).read_record())
    changes = [{key: name} for key in ("name", "stem") for name in EVIL_NAMES]
    changes += [{key: "../../../etc/x"} for key in ("segments", "features", "digest")]
    first, *others = record["bags"]
    for change in changes:
        write_json(own_run / "run.json", {**record, "bags": [{**first, **change}, *others]})
        with pytest.raises(SegvoteError):
            export(own_run, "coco", tmp_path / "export", overwrite=True)
    assert {path.name for path in tmp_path.iterdir()} <= {"run", "export"}


@pytest.mark.parametrize("name", ["masks", "log.jsonl", "heatmaps/with"])
def test_links_in_a_run_folder_lead_nowhere(stage, own_run, world, tmp_path, name):
    outside, path = tmp_path / "outside", own_run / name
    outside.touch() if "." in name else outside.mkdir()
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    path.symlink_to(outside)
    done = stage.run(*world.type(f"annotate WITH WITHOUT -o {own_run} --jobs 1 SMALL --n-segments 9"))
    changed = list(outside.iterdir()) if outside.is_dir() else outside.read_bytes()
    assert done["code"] == 2 and not changed
    assert "link out of the run folder" in done["errors"]


LAUGHS = "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9))
XML = (
    f'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "lol">{LAUGHS}]><annotations>&j;</annotations>',
    '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><annotations>&x;</annotations>',
    '<?xml version="1.0"?><!DOCTYPE a SYSTEM "http://127.0.0.1:9/x.dtd"><annotations/>',
    '<?xml version="1.0" encoding="utf-7"?><a/>',
)
SIDES = {"height": 10**6, "width": 10**6}
BRUSH = {"type": "brushlabels", "original_width": 10**6, "original_height": 10**6, "value": {"rle": [0] * 8}}
RLE = {"id": 1, "image_id": 1, "category_id": 1, "segmentation": {"size": [2**31, 2**31], "counts": "0" * 9}}
IMAGE, CATEGORIES = {"id": 1, "file_name": "a.png"}, [{"id": 1, "name": "x"}]
JSON = (
    json.dumps({"images": [{**IMAGE, **SIDES}], "annotations": [], "categories": CATEGORIES}),
    json.dumps({"images": [{**IMAGE, "height": 9, "width": 9}], "annotations": [RLE], "categories": CATEGORIES}),
    "[" * 100_000,
    '{"images": ' + "9" * 5000 + ', "annotations": []}',
    json.dumps([{"data": {"image": "a"}, "annotations": [{"result": [BRUSH]}]}]),
    json.dumps({"shapes": [], "imageHeight": 10**6, "imageWidth": 10**6, "imagePath": "a"}),
)


def test_annotation_files_that_grow_or_lead_out_are_refused(tmp_path):
    """Entities and document types, pictures of a million rows, endless nesting, archives that unpack to more."""
    for kind, texts in (("xml", XML), ("json", JSON)):
        for number, text in enumerate(texts):
            (tmp_path / f"{number}.{kind}").write_text(text)
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("annotations.json", b" " * 50_000_000)
    for path in sorted(tmp_path.iterdir()):
        with pytest.raises(SegvoteError):
            list(read_any(path))


def test_many_outlines_take_the_memory_of_one_mask(tmp_path):
    size, n_shapes = 1000, 300
    rng, shape = np.random.default_rng(0), {"image_id": 1, "category_id": 1}
    rings = np.clip(rng.uniform(0, size, (n_shapes, 1, 2)) + rng.uniform(0, 200, (n_shapes, 5, 2)), 0, size)
    shapes = [{**shape, "id": number, "segmentation": [ring.ravel().tolist()]} for number, ring in enumerate(rings, 1)]
    coco = {"images": [{**IMAGE, "height": size, "width": size}], "annotations": shapes, "categories": CATEGORIES}
    (tmp_path / "coco.json").write_text(json.dumps(coco))
    tracemalloc.start()
    [annotation] = read_any(tmp_path / "coco.json")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert annotation.parts[0].mask.any() and peak < 12 * size * size + (64 << 20)
