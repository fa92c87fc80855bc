"""The promise of `predict` on real photos: half of street-cars judged by the other half."""

import pytest
from scipy.stats import binomtest

from segvote import annotate
from segvote.metrics import measure_auc
from segvote.run.settings import Settings
from segvote.steps.predict import predict

pytestmark = pytest.mark.real_data


@pytest.fixture(scope="module")
def predicted(data_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("halves")
    for bag_label in ("with", "without"):
        for number, path in enumerate(sorted((data_folder / "street-cars" / bag_label).iterdir())):
            half = folder / ("known" if number % 2 else "unknown") / bag_label
            half.mkdir(parents=True, exist_ok=True)
            (half / path.name).symlink_to(path.resolve())
    run = annotate(folder / "known/with", folder / "known/without", folder / "run", Settings(draw="segments"))
    return predict(run.folder.path, folder / "unknown", folder / "new", false_positive_rate=0.1)


def test_false_positives_on_held_out_photos_keep_the_rate(predicted):
    alarms = [one.contains for one in predicted.images if one.name.startswith("without/")]
    interval = binomtest(sum(alarms), len(alarms)).proportion_ci(0.95)
    assert interval.low <= predicted.rate


def test_photos_with_cars_outrank_those_without(predicted):
    truth = [one.name.startswith("with/") for one in predicted.images]
    assert measure_auc([one.score for one in predicted.images], truth) > 0.9
