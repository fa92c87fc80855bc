"""Every export of a run, opened by the other side's own code: are the masks the same to the pixel?

    judges/bin/python benchmarks/judge_exports.py RUN [--only FORMAT]

RUN is a finished run on images, best called ``car`` (Cityscapes has its own names). The judges live in an environment
of their own, see ``tests/io/test_export_judges.py``; one that is missing is reported as such. Last line JSON.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import numpy as np

from segvote.io import EXPORTS
from segvote.run.run import Run
from segvote.steps.export import export

Masks = Iterator[tuple[str, np.ndarray]]


def join(masks: list[np.ndarray], height: int, width: int) -> np.ndarray:
    return np.any([np.zeros((height, width), bool), *masks], axis=0)


def read_coco(folder: Path, run: Run) -> Masks:
    from pycocotools.coco import COCO

    coco = COCO(str(folder / "annotations/instances_default.json"))
    for image in coco.dataset["images"]:
        masks = [coco.annToMask(one).astype(bool) for one in coco.imgToAnns[image["id"]]]
        yield image["file_name"], join(masks, image["height"], image["width"])


def read_cvat(folder: Path, run: Run) -> Masks:
    from xml.etree import ElementTree

    from cvat_sdk.masks import decode_mask

    for image in ElementTree.parse(folder / "annotations.xml").getroot().iter("image"):
        height, width = int(image.get("height", 0)), int(image.get("width", 0))
        masks = []
        for shape in image.iter("mask"):
            left, top, across, down = (int(shape.get(name, 0)) for name in ("left", "top", "width", "height"))
            counts = [int(count) for count in shape.get("rle", "").split(",")]
            points = [*counts, left, top, left + across - 1, top + down - 1]
            masks.append(decode_mask(points, image_width=width, image_height=height))
        yield image.get("name", ""), join(masks, height, width)


def read_by_datumaro(name: str) -> Callable[[Path, Run], Masks]:
    def read(folder: Path, run: Run) -> Masks:
        import datumaro

        dataset = datumaro.Dataset.import_from(str(folder), name)
        names = [label.name for label in dataset.categories()[datumaro.AnnotationType.label].items]
        for item in dataset:
            shapes = [one for one in item.annotations if one.type == datumaro.AnnotationType.mask]
            masks = [np.asarray(one.image).astype(bool) for one in shapes if names[one.label] == run.settings.label]
            yield item.id, join(masks, *item.media.size)

    return read


def read_label_studio(folder: Path, run: Run) -> Masks:
    from label_studio_sdk.converter import brush

    for task in json.loads((folder / "tasks.json").read_text()):
        results = [{**one, **one["value"]} for one in task["predictions"][0]["result"]]
        layers = brush.decode_from_annotation("label", results)
        height, width = task["data"]["height"], task["data"]["width"]
        yield task["data"]["name"], join([layer > 0 for layer in layers.values()], height, width)


def read_labelme(folder: Path, run: Run) -> Masks:
    from labelme._label_file import read_label_file
    from labelme.utils.shape import shapes_to_label

    for bag in run.bags:
        data = read_label_file(str((folder / bag.name).with_suffix(".json")))
        yield bag.name, shapes_to_label((bag.height, bag.width), data.shapes, {run.settings.label: 1})[0] == 1


def read_yolo(folder: Path, run: Run) -> Masks:
    """No judge reads pixels from outlines; pycocotools fills them."""
    from pycocotools import mask as coco_mask

    for bag in run.bags:
        lines = (folder / "labels" / bag.name.replace("/", "_")).with_suffix(".txt").read_text().splitlines()
        points = [np.array(line.split(" ")[1:], float).reshape(-1, 2) * [bag.width, bag.height] for line in lines]
        flat = [np.round(one).ravel().tolist() for one in points]
        rings = [coco_mask.merge(coco_mask.frPyObjects(flat, bag.height, bag.width))] if flat else []
        yield bag.name, join([coco_mask.decode(one).astype(bool) for one in rings], bag.height, bag.width)


def read_png(folder: Path, run: Run) -> Masks:
    from PIL import Image

    for bag in run.bags:
        with Image.open((folder / bag.name).with_suffix(".png")) as picture:
            yield bag.name, np.asarray(picture) == 255


JUDGES: dict[str, tuple[str, Callable[[Path, Run], Masks]]] = {
    "cityscapes": ("datumaro", read_by_datumaro("cityscapes")),
    "coco": ("pycocotools", read_coco),
    "cvat": ("cvat_sdk.masks", read_cvat),
    "datumaro": ("datumaro", read_by_datumaro("datumaro")),
    "label-studio": ("label_studio_sdk", read_label_studio),
    "labelme": ("labelme", read_labelme),
    "png": ("Pillow", read_png),
    "voc": ("datumaro", read_by_datumaro("voc_segmentation")),
    "yolo": ("pycocotools, of outlines", read_yolo),
}


def name_alike(name: str) -> str:
    """Formats spell names their own way: letters and digits of the name without extension."""
    stem = PurePosixPath(name.removeprefix("segvote/segvote_").removesuffix("_000000")).with_suffix("")
    return "".join(sign for sign in stem.as_posix() if sign.isalnum())


def judge(run: Run, format: str, read: Callable[[Path, Run], Masks], folder: Path) -> str:
    """``n of n`` images the same, or what went wrong."""
    expected = {name_alike(bag.name): run.read_mask(index) for index, bag in enumerate(run.bags)}
    export(run, format, folder, copy_images=True)
    try:
        found = {name_alike(name): mask for name, mask in read(folder, run)}
    except ImportError as error:
        return f"not judged: {error}"
    same = sum(name in found and np.array_equal(mask, found[name]) for name, mask in expected.items())
    return f"{same} of {len(expected)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--only", action="append", choices=list(EXPORTS), help="one format; may be repeated")
    arguments = parser.parse_args()
    run = Run(arguments.run)
    results = {}
    for format in arguments.only or EXPORTS:
        by, read = JUDGES[format]
        with tempfile.TemporaryDirectory() as scratch:
            results[format] = judge(run, format, read, Path(scratch) / "out")
        print(f"{format:14}{by:28}{results[format]}", flush=True)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
