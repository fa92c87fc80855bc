"""The one-class SVM voter is scikit-learn's machine on the negatives, turned round."""

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from segvote.voters.negative.one_class import OneClass


def test_votes_are_the_machine_of_scikit_learn_turned_round(planted):
    negatives = planted.X[planted.y == 0]
    scaler = StandardScaler().fit(negatives)
    model = OneClassSVM(nu=0.1, gamma=1 / 6, tol=1e-6).fit(scaler.transform(negatives))
    fitted = OneClass().fit(planted.X, planted.y, bags=planted.bags)
    expected = -model.decision_function(scaler.transform(planted.X))
    np.testing.assert_allclose(fitted.scores_ + fitted.threshold_, expected, atol=0.02 * np.ptp(expected))


def test_only_negatives_vote_and_no_more_than_allowed(planted):
    fitted = OneClass(max_negatives=30).fit(planted.X, planted.y, bags=planted.bags)
    assert len(fitted._prototypes.rows) <= 30
    assert (planted.y[fitted._prototypes.rows] == 0).all()


def test_a_sample_of_the_negatives_ranks_about_as_all_do(planted):
    def score(**options):
        return OneClass(**options).fit(planted.X, planted.y, bags=planted.bags).scores_

    assert np.corrcoef(score(), score(max_negatives=60))[0, 1] > 0.9
