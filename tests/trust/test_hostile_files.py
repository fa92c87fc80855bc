"""Files from strangers: nothing in them runs, nothing leads out of a folder, nothing grows without end."""

import json
import os
import pickle
import shutil
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from nonsense import survives

from segvote.errors import SegvoteError
from segvote.features.networks.backbone import BackboneFeatures
from segvote.features.networks.torch_file import read_torch_file
from segvote.io.imports import read_any
from segvote.run.bags import Bag
from segvote.run.run_folder import RunFolder
from segvote.steps.export import export
from segvote.steps.label_maps import LabelMaps


@pytest.fixture
def own_run(tiny_run, tmp_path):
    shutil.copytree(tiny_run, tmp_path / "run")
    return tmp_path / "run"


def count_unrefused(attempts):
    """How many of the calls end in anything but a `SegvoteError`."""
    n_lost = 0
    for number, attempt in enumerate(attempts):
        try:
            attempt()
        except SegvoteError:
            continue
        except Exception as error:
            print(number, type(error).__name__, error)
        else:
            print(number, "was accepted")
        n_lost += 1
    return n_lost


# Weights.


class Attack:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def list_attacks(marker):
    """Pickles of the classic kind; each would leave a file behind."""
    commands = [
        (os.system, f"touch {marker}"),
        (exec, f"open({str(marker)!r}, 'w')"),
        (eval, f"open({str(marker)!r}, 'w')"),
    ]
    payloads = [Attack(*command) for command in commands]
    payloads += [{"weight": Attack(os.makedirs, str(marker))}, [Attack(shutil.copy, "/etc/passwd", str(marker))]]
    return [pickle.dumps(payload, protocol) for payload in payloads for protocol in (0, 2, 4)]


def test_pickles_that_run_code_do_not(tmp_path, ledger):
    marker, attempts = tmp_path / "ran", []
    for number, data in enumerate(list_attacks(marker)):
        plain, zipped, model = (tmp_path / f"{number}.{kind}" for kind in ("pth", "zip.pth", "npy"))
        plain.write_bytes(data)
        with zipfile.ZipFile(zipped, "w") as archive:
            archive.writestr("archive/data.pkl", data)
            archive.writestr("archive/version", "3")
        header = b"{'descr': '|O', 'fortran_order': False, 'shape': (), }"
        model.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)
        attempts += [lambda path=path: read_torch_file(path) for path in (plain, zipped)]
        attempts += [lambda path=model: read_label_map(path)]
    lost = count_unrefused(attempts) + marker.exists()
    ledger.note("weights and label maps that would run code", len(attempts), lost)


def read_label_map(path):
    maps = LabelMaps.open(path.parent)
    _, cut = maps(Bag(f"with/{path.stem}.png", "with", path, ""))
    return cut(np.zeros((10, 10, 3), np.uint8), 5)


def test_label_maps_that_are_programs_or_bombs_are_refused(tmp_path, ledger):
    marker = tmp_path / "ran"
    (tmp_path / "a.png").write_bytes(f"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n({marker}) (w) file\n".encode())
    header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (1000000, 1000000), }"
    (tmp_path / "b.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    (tmp_path / "c.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", 9) + b"{'descr':")
    np.save(tmp_path / "d.npy", np.full((10, 10), np.nan))
    os.mkfifo(tmp_path / "e.png")
    (tmp_path / "f.mat").write_bytes(
        b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + b"\x0f\x00\x00\x00\xff\xff\xff\x7fxx"
    )
    names = ("a.png", "b.npy", "c.npy", "d.npy", "e.png", "f.mat")
    lost = count_unrefused([lambda name=name: read_label_map(tmp_path / name) for name in names])
    ledger.note("label maps that are programs, bombs or nonsense", len(names), lost + marker.exists())


def make_onnx(path, location, place):
    """A network whose weights lie where a stranger says: as a weight, a constant of a node, or deep inside."""
    from onnx import TensorProto, helper, numpy_helper

    weight = numpy_helper.from_array(np.zeros((2, 3, 8, 8), np.float32), "w")
    stolen = TensorProto(name="s", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", "0"), ("length", "16")):
        stolen.external_data.add(key=key, value=value)
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, "h", "w"])
    answer = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2, "a", "b"])
    nodes = [helper.make_node("Conv", ["image", "w"], ["y"], strides=[8, 8])]
    weights = [weight, stolen] if place == "weight" else [weight]
    if place == "constant":
        nodes.append(helper.make_node("Constant", [], ["c"], value=stolen))
    if place == "inside":
        inner = helper.make_graph(
            [helper.make_node("Constant", [], ["c"], value=stolen)],
            "inner",
            [],
            [helper.make_tensor_value_info("c", TensorProto.FLOAT, [4])],
        )
        yes = numpy_helper.from_array(np.array(True), "yes")
        weights.append(yes)
        nodes.append(helper.make_node("If", ["yes"], ["d"], then_branch=inner, else_branch=inner))
    graph = helper.make_graph(nodes, "g", [image], [answer], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path.write_bytes(model.SerializeToString())


def test_networks_cannot_read_files_elsewhere(tmp_path, ledger):
    (tmp_path / "models").mkdir()
    (tmp_path / "secret").write_bytes(bytes(64))
    os.mkfifo(tmp_path / "models" / "pipe")
    (tmp_path / "models" / "link").symlink_to(tmp_path / "secret")
    places = (
        "../secret",
        str(tmp_path / "secret"),
        "/etc/passwd",
        "link",
        "pipe",
        "sub/../../secret",
        "",
        "absent",
        ".",
    )
    attempts = []
    for number, location in enumerate(places):
        for place in ("weight", "constant", "inside"):
            path = tmp_path / "models" / f"{number}-{place}.onnx"
            make_onnx(path, location, place)
            attempts += [lambda path=path: BackboneFeatures(path, size=16).get_key()]
            attempts += [lambda path=path: BackboneFeatures(path, size=16).blocks]
    ledger.note(
        "networks whose weights lie elsewhere (`..`, absolute, links, pipes)", len(attempts), count_unrefused(attempts)
    )


# Run folders.


def rewrite(run, change):
    """The record of a run, changed by somebody who also writes the checksum."""
    record = RunFolder(run).read_record()
    change(record)
    RunFolder(run).write_record(record)


EVIL_NAMES = ("../../outside", "/tmp/outside", "with/../../../outside", "with/..", "with/\0", "", "with/a/../../../b")


def test_names_in_a_record_cannot_lead_out(own_run, tmp_path, ledger):
    record = RunFolder(own_run).read_record()
    keys = [("name", name) for name in EVIL_NAMES] + [("stem", name) for name in EVIL_NAMES]
    keys += [(key, "../../../etc/x") for key in ("segments", "features", "digest")]
    attempts = []
    for key, value in keys:

        def attempt(key=key, value=value):
            RunFolder(own_run).write_record(
                {**record, "bags": [{**record["bags"][0], key: value}, *record["bags"][1:]]}
            )
            export(own_run, "coco", tmp_path / "export", overwrite=True)

        attempts.append(attempt)
    lost = count_unrefused(attempts)
    strangers = {path.name for path in tmp_path.iterdir()} - {"run", "export"}
    ledger.note("run folders with names that lead out", len(attempts), lost + len(strangers))


@pytest.mark.parametrize("name", ["masks", "review.sqlite", "log.jsonl", "heatmaps/with"])
def test_links_in_a_run_folder_lead_nowhere(stage, own_run, tiny_scenes, tmp_path, ledger, name):
    outside = tmp_path / "outside"
    outside.mkdir()
    if "." in name:
        outside = outside / "file"
        outside.write_bytes(b"")
    path = own_run / name
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(outside)
    folders = [tiny_scenes / "with", tiny_scenes / "without", "-o", own_run]
    done = stage.run("annotate", *folders, "--jobs", "1", "--features", "color", "--n-segments", "9", "--size", "64")
    changed = list(outside.iterdir()) if outside.is_dir() else outside.read_bytes()
    ledger.note("run folders with links to other places", 1, int(done["code"] != 2 or bool(changed)))
    assert "link out of the run folder" in done["errors"]


# Annotations of other tools.

BILLION_LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "lol">'
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9))
    + "]><annotations>&j;</annotations>"
)
OUTSIDE = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><annotations>&x;</annotations>'
PARAMETER = '<?xml version="1.0"?><!DOCTYPE a SYSTEM "http://127.0.0.1:9/x.dtd"><annotations/>'


@pytest.mark.parametrize("text", [BILLION_LAUGHS, OUTSIDE, PARAMETER, '<?xml version="1.0" encoding="utf-7"?><a/>'])
def test_xml_with_entities_is_refused(tmp_path, ledger, text):
    (tmp_path / "annotations.xml").write_text(text)
    attempts = [lambda: list(read_any(tmp_path / "annotations.xml"))]
    ledger.note("XML with entities, document types, odd encodings", 1, count_unrefused(attempts))


def list_bombs(folder):
    """Annotation files that speak of more than they hold."""
    image = {"id": 1, "file_name": "a.png", "height": 100_000, "width": 100_000}
    category = [{"id": 1, "name": "x"}]
    shape = {"id": 1, "image_id": 1, "category_id": 1, "segmentation": {"size": [2**31, 2**31], "counts": "0" * 9}}
    texts = [
        json.dumps({"images": [image], "annotations": [], "categories": category}),
        json.dumps({"images": [{**image, "height": 9, "width": 9}], "annotations": [shape], "categories": category}),
        "[" * 100_000,
        '{"images": ' + "9" * 5000 + ', "annotations": []}',
        json.dumps(
            [
                {
                    "data": {"image": "a"},
                    "annotations": [
                        {
                            "result": [
                                {
                                    "type": "brushlabels",
                                    "original_width": 10**6,
                                    "original_height": 10**6,
                                    "value": {"rle": [0] * 8},
                                }
                            ]
                        }
                    ],
                }
            ]
        ),
        json.dumps({"shapes": [], "imageHeight": 10**6, "imageWidth": 10**6, "imagePath": "a"}),
    ]
    for number, text in enumerate(texts):
        (folder / f"{number}.json").write_text(text)
        yield folder / f"{number}.json"
    with zipfile.ZipFile(folder / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("annotations.json", b" " * 50_000_000)
    yield folder / "bomb.zip"


def test_annotation_files_that_grow_are_refused(tmp_path, ledger):
    attempts = [lambda path=path: list(read_any(path)) for path in list_bombs(tmp_path)]
    ledger.note("annotation files that unpack to more than they are", len(attempts), count_unrefused(attempts))


def test_archives_write_nothing_where_their_names_say(tmp_path, ledger):
    path = tmp_path / "slip.zip"
    coco = json.dumps({"images": [], "annotations": [], "categories": []})
    for name in ("../../slipped.json", "/tmp/slipped-segvote.json", "..\\slipped.json"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, coco)
        assert survives(lambda: list(read_any(path)))
    found = [*tmp_path.parent.rglob("slipped*"), *tmp_path.parent.parent.glob("slipped*")]
    ledger.note(
        "archives whose members are called `../..`", 3, len(found) + os.path.exists("/tmp/slipped-segvote.json")
    )


def list_crowded(folder, n_shapes, size):
    """A file of each format with so many outlines in one large image."""
    rng = np.random.default_rng(0)
    corners = rng.uniform(0, size, (n_shapes, 1, 2)) + rng.uniform(0, 200, (n_shapes, 5, 2))
    rings = np.clip(corners, 0, size).round(1).tolist()
    image = {"id": 1, "file_name": "a.png", "height": size, "width": size}
    shapes = [
        {"id": number, "image_id": 1, "category_id": 1, "segmentation": [np.ravel(ring).tolist()]}
        for number, ring in enumerate(rings, start=1)
    ]
    coco = {"images": [image], "annotations": shapes, "categories": [{"id": 1, "name": "x"}]}
    (folder / "coco.json").write_text(json.dumps(coco))
    shapes = [{"label": "x", "points": ring, "shape_type": "polygon"} for ring in rings]
    labelme = {"shapes": shapes, "imageHeight": size, "imageWidth": size, "imagePath": "a.png"}
    (folder / "labelme.json").write_text(json.dumps(labelme))
    results = [
        {
            "type": "polygonlabels",
            "original_width": size,
            "original_height": size,
            "value": {"points": (100 * np.array(ring) / size).tolist(), "polygonlabels": ["x"]},
        }
        for ring in rings
    ]
    (folder / "tasks.json").write_text(json.dumps([{"data": {"image": "a.png"}, "annotations": [{"result": results}]}]))
    outlines = "".join(
        f'<polygon label="x" points="{";".join(f"{x},{y}" for x, y in ring)}" occluded="0" z_order="0"/>'
        for ring in rings
    )
    head = f'<image id="0" name="a.png" width="{size}" height="{size}">'
    (folder / "cvat.xml").write_text(f"<annotations>{head}{outlines}</image></annotations>")
    return [folder / name for name in ("coco.json", "labelme.json", "tasks.json", "cvat.xml")]


@pytest.mark.parametrize(("n_shapes", "size"), [(60, 1000), pytest.param(1200, 3000, marks=pytest.mark.slow)])
@pytest.mark.timeout(7200)
def test_files_of_many_shapes_take_the_memory_of_one(tmp_path, ledger, n_shapes, size):
    lost, allowed = 0, 12 * size * size + (64 << 20)
    for path in list_crowded(tmp_path, n_shapes, size):
        tracemalloc.start()
        [annotation] = read_any(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        good = len(annotation.parts) == 1 and annotation.parts[0].mask.any() and peak < allowed
        if not good:
            print(path.name, len(annotation.parts), peak >> 20)
        lost += not good
    ledger.note("imports of 60 and 1,200 outlines in one image, the memory of one mask", 4, lost)
