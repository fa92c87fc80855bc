"""Metrics: arrays in, numbers out. Truth is 255 object, 128 ignore, 0 background."""

from segvote.metrics.bootstrap import Difference, Interval, bootstrap_difference, bootstrap_mean
from segvote.metrics.boundary import PixelAgreement, has_outline, measure_boundary_f, measure_pixel_agreement
from segvote.metrics.detection import (
    Detections,
    match_detections,
    measure_count_error,
    measure_instance_ap,
    measure_mean_ap,
)
from segvote.metrics.instances import InstanceCounts, match_instances, sum_instances
from segvote.metrics.overlap import (
    IMAGE_THRESHOLD,
    VIDEO_THRESHOLD,
    find_box,
    label_by_truth,
    measure_box_iou,
    measure_corloc,
    measure_iou,
)
from segvote.metrics.ranking import average_precision, precision_recall

__all__ = [
    "IMAGE_THRESHOLD",
    "VIDEO_THRESHOLD",
    "Detections",
    "Difference",
    "InstanceCounts",
    "Interval",
    "PixelAgreement",
    "average_precision",
    "bootstrap_difference",
    "bootstrap_mean",
    "find_box",
    "has_outline",
    "label_by_truth",
    "match_detections",
    "match_instances",
    "measure_boundary_f",
    "measure_box_iou",
    "measure_corloc",
    "measure_count_error",
    "measure_instance_ap",
    "measure_iou",
    "measure_mean_ap",
    "measure_pixel_agreement",
    "precision_recall",
    "sum_instances",
]
