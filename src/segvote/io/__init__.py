"""Files to arrays and back: images, masks, tables, exports, imports."""

from __future__ import annotations

from pathlib import Path

from segvote.registry import Registry

__all__ = ["EXPORTS", "format_next_step"]

EXPORTS = Registry(
    "export format",
    {
        "cityscapes": "segvote.io.exports.index_pictures:write_cityscapes",
        "coco": "segvote.io.exports.coco:write_coco",
        "cvat": "segvote.io.exports.cvat:write_cvat",
        "datumaro": "segvote.io.exports.coco:write_datumaro",
        "hf": "segvote.io.exports.index_pictures:write_hugging_face",
        "label-studio": "segvote.io.exports.label_tools:write_label_studio",
        "labelme": "segvote.io.exports.label_tools:write_labelme",
        "png": "segvote.io.exports.index_pictures:write_png",
        "voc": "segvote.io.exports.index_pictures:write_voc",
        "yolo": "segvote.io.exports.yolo:write_yolo",
    },
)

# How to train on an export, or open it: {path} is the path that the writer returned, {folder} the export's folder.
NEXT_STEPS = {
    "cityscapes": 'datumaro.Dataset.import_from({folder!r}, "cityscapes")',
    "coco": 'datumaro.Dataset.import_from({folder!r}, "coco")',
    "cvat": "CVAT: create a task from {folder}/images, then Actions, Upload annotations, CVAT 1.1: {path}",
    "datumaro": 'datumaro.Dataset.import_from({folder!r}, "datumaro")',
    "hf": 'datasets.load_dataset("imagefolder", data_dir={folder!r})',
    "label-studio": "Label Studio: paste {folder}/config.xml under Labeling Interface, then import {path}",
    "labelme": "labelme {folder}",
    "voc": 'datumaro.Dataset.import_from({folder!r}, "voc")',
    "yolo": "yolo segment train data={path} model=yolo11n-seg.pt",
}


def format_next_step(format: str, path: Path, boxes: bool = False) -> str:
    """How to use an export at `path`, in one line, empty for plain pictures; `boxes` as in `ExportOptions`."""
    path = path.absolute()
    # The folder of COCO's only file is the one above `annotations`.
    folder = path if path.is_dir() else path.parents[format == "coco"]
    line = NEXT_STEPS.get(format, "").format(path=path, folder=str(folder))
    return line.replace("segment", "detect").replace("-seg", "") if boxes and format == "yolo" else line
