"""Files to arrays and back: images, masks, tables, run folders, exports."""

from segvote.registry import Registry

__all__ = ["EXPORTS"]

EXPORTS = Registry(
    "export format",
    {
        "cityscapes": "segvote.io.exports.cityscapes:write_cityscapes",
        "coco": "segvote.io.exports.coco:write_coco",
        "cvat": "segvote.io.exports.cvat:write_cvat",
        "datumaro": "segvote.io.exports.datumaro:write_datumaro",
        "hf": "segvote.io.exports.hugging_face:write_hugging_face",
        "label-studio": "segvote.io.exports.label_studio:write_label_studio",
        "labelme": "segvote.io.exports.labelme:write_labelme",
        "png": "segvote.io.exports.png:write_png",
        "voc": "segvote.io.exports.voc:write_voc",
        "yolo": "segvote.io.exports.yolo:write_yolo",
    },
)
