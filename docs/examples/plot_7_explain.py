"""
Why this segment?
=================

A score is a sum of votes. ``explain`` lists the segments that voted for and against it, with amounts that sum to the
score.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import segvote
from segvote.datasets import make_scenes, write_scenes

folder = Path(tempfile.mkdtemp())
write_scenes(folder, make_scenes(n_with=12, n_without=12, seed=1, size=(240, 180), object_area=(0.05, 0.12)))
settings = segvote.Settings(size=240, n_segments=100)
run = segvote.annotate(folder / "with", folder / "without", folder / "run", settings, n_jobs=1)

# %%
# The segment with the highest score of the first image; a pixel (x, y) selects another one.

explanation = run.explain(0)
print(f"score {explanation.score:+.3f}, object above {explanation.threshold:+.3f}")
for line in explanation.list_best(+1)[:4]:
    print(f"{line.amount:+.4f}  {run.images[line.bag].name}, {line.place}")

# %%
# The amounts and the intercept sum to the score:

print(f"{sum(line.amount for line in explanation.lines) + explanation.constant:+.3f}")

# %%
# The segment, and the four with the largest votes for it.

places = [(0, explanation.segment), *((line.bag, line.segment) for line in explanation.list_best(+1)[:4])]
figure, row = plt.subplots(1, 5, figsize=(9, 1.7), layout="constrained")
for axes, (index, segment) in zip(row, places, strict=True):
    axes.imshow(run.images[index].image)
    axes.contour(run.read_segments(index)["labels"] == segment, [0.5], colors="#f8d350")
    axes.set_title(run.images[index].name, fontsize=8)
    axes.axis("off")
