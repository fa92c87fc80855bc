"""
A table without images
======================

The method works on vectors. Multiple-instance learning has many such tables: recordings of bird song divided into
syllables, molecules with their shapes. This example uses bags of hand-written digits of scikit-learn: every *with*
bag contains at least one 7 among other digits, no *without* bag does. The method finds the 7.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import average_precision_score

import segvote

digits, rng = load_digits(), np.random.default_rng(0)
sevens, others = (
    rng.permutation(np.flatnonzero(digits.target == 7)),
    rng.permutation(np.flatnonzero(digits.target != 7)),
)
n_bags, n_instances = 40, 12
members = others[: 2 * n_bags * n_instances].reshape(2 * n_bags, n_instances)
members[:n_bags, :2] = sevens[: 2 * n_bags].reshape(n_bags, 2)  # two sevens in every bag of the first half

# %%
# One row per instance, the label of the bag copied to its instances, and the id of the bag.

X = digits.data[members.ravel()]
bags = np.repeat(np.arange(2 * n_bags), n_instances)
y = bags < n_bags
annotator = segvote.SegmentAnnotator(n_neighbors=20).fit(X, y, images=bags)

# %%
# Every instance has a score and a label; the result has a confidence.

truth = digits.target[members.ravel()] == 7
result = annotator.vote_.selection
print(f"average precision {average_precision_score(truth[y], result.scores[y]):.3f}; chance {truth[y].mean():.3f}")
print(f"selected {result.selected.sum()}, of which sevens {(result.selected & truth).sum()} of {truth[y].sum()}")

figure, grid = plt.subplots(5, n_instances, figsize=(9, 3.8), layout="constrained")
for number, axes in enumerate(grid.flat):
    axes.imshow(X[number].reshape(8, 8), cmap="gray_r")
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set(visible=True, color="#d6452b" if result.selected[number] else "#c8ccd2", linewidth=3)
figure.suptitle("five bags, one per row; framed red: selected")

# %%
# New instances are scored by the same votes:

print(
    "score of a new 7 and of a new 3:",
    annotator.decision_function(digits.data[[sevens[-1], np.flatnonzero(digits.target == 3)[-1]]]).round(2),
)
