"""The words of a confidence: every cause has its reason and advice, and the record holds them."""

import numpy as np

from segvote.method.confidence import CAUSES, Confidence
from segvote.run.advice import REASONS, describe_confidence


def test_every_cause_has_a_reason_and_advice():
    assert set(REASONS) == set(CAUSES) and all(reason and advice for reason, advice in REASONS.values())


def test_the_scores_of_another_voter_are_not_judged():
    confidence = Confidence(np.nan)
    assert confidence.level == "unknown" and describe_confidence(confidence) == {} and not confidence.is_low


def test_a_record_holds_figures_and_words():
    record = describe_confidence(Confidence(0.2, separability=0.51239, cause="few"))
    assert record["level"] == "low" and record["cause"] == "few" and record["separability"] == 0.5124
    assert (record["reason"], record["advice"]) == REASONS["few"]
    assert {"value", "separability", "agreement", "contrast", "power", "shared", "p_value"} <= set(record)


def test_a_high_confidence_has_no_reason():
    record = describe_confidence(Confidence(0.9))
    assert record["level"] == "high" and record["reason"] == record["advice"] == ""
