"""Write docs/tutorial.ipynb from the cells below, run it, and store it with what it printed.

python docs/_ext/write_tutorial.py
"""

from __future__ import annotations

from pathlib import Path

import nbclient
import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

TUTORIAL = Path(__file__).parents[1] / "tutorial.ipynb"

# Text and code in turn, the text first.
CELLS = [
    """\
# Tutorial: from two folders to masks

Everything `segvote` does on the command line, in Python, on small scenes that are made here. Runs in half a minute on
one core.

## Two folders

`with/` holds images that show the object, a coffee cup; `without/` holds images that do not. Everything else occurs in
both. There are masks, too, because the scenes are made; they are used only to see how well it went.""",
    """\
import os
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from skimage.io import imread

from segvote.datasets import write_scenes

os.chdir(tempfile.mkdtemp())  # everything below is written there
write_scenes(".", n_with=8, n_without=20, seed=1, size=(240, 180), object_area=(0.05, 0.12))

figure, axes = plt.subplots(2, 4, figsize=(8, 3.2), dpi=75, layout="constrained")
for row, tag in zip(axes, ("with", "without")):
    for one, path in zip(row, sorted(Path(tag).iterdir())):
        one.imshow(imread(path))
        one.set_title(f"{tag}/{path.name}", fontsize=8)
        one.axis("off")""",
    """\
## Annotate

One call. `n_jobs=1` keeps it in this process; in a script take more, and call it from under `if __name__ ==
"__main__":`. The settings are smaller than the defaults because the pictures are small.""",
    """\
import segvote

settings = segvote.Settings(size=240, n_segments=100, label="cup")
run = segvote.annotate("with", "without", "run", settings, n_jobs=1)
run""",
    """\
A run is a folder. It holds masks, heat maps, a COCO file, `report.html`, and everything later commands re-use. Called
again, the same line does nothing twice.""",
    """\
for path in sorted(Path("run").glob("[!.]*")):
    print(path.name + "/" * path.is_dir())""",
    """\
Each bag (here an image) has a row. `uncertainty` says where to look first: 0 means two clear levels of scores,
0.25 and more is uncertain.""",
    """\
for bag in sorted(run.bags, key=lambda bag: -bag.uncertainty)[:4]:
    print(f"{bag.name:20} uncertainty {bag.uncertainty:.2f}, covers {bag.area:5.1%}, {bag.n_selected} of {bag.n_segments}")""",
    """\
## Evaluate

Where there is truth, one can measure. *CorLoc* is the share of images whose mask overlaps the truth by more than half.
The *limit* is the best that these segments could have given.""",
    """\
from segvote.cli.evaluate import format_evaluation
from segvote.evaluation.evaluate import evaluate

print(format_evaluation(evaluate(run, "masks")))""",
    """\
## Who voted

Every score is a sum of votes, so it can be explained. Take the best segment of the first image: who voted for it?""",
    """\
from segvote.evaluation.explain import explain_segment, find_segment, format_explanation
from segvote.steps.reopening import reopen, vote

voted = vote(reopen(run))
segment = find_segment(run, 0, "", voted.result.scores)
explanation = explain_segment(voted, bag=0, segment=segment)
print(format_explanation(explanation, run, n_lines=4))""",
    "In pictures: the segment, and the four that gave it most.",
    """\
from segvote.io.overlays import blend_mask

loudest = [(line.bag, line.segment) for line in explanation.list_best(+1)[:4]]
figure, axes = plt.subplots(1, 5, figsize=(9, 1.7), dpi=75, layout="constrained")
for one, (bag, number) in zip(axes, [(0, segment), *loudest]):
    one.imshow(blend_mask(run.read_image(bag), run.read_segments(bag)["labels"] == number))
    one.set_title(run.bags[bag].name, fontsize=8)
    one.axis("off")""",
    """\
## Images never seen

`predict` applies what was learned to a folder of unknown content. The false-positive rate is
promised: of images *without* the object, at most this share is said to show it (as far as the twenty *without* images
above can vouch for it). The probability says how sure it is: the one false positive below has a low one.""",
    """\
write_scenes("new", n_with=4, n_without=4, seed=7, size=(240, 180), object_area=(0.05, 0.12))
Path("mixed").mkdir()
for path in sorted(Path("new").glob("with*/*.png")):
    path.rename(Path("mixed") / path.name)

found = segvote.predict("run", "mixed", "predicted", false_positive_rate=0.05, n_jobs=1)
for image in found.images:
    print(f"{image.name:18} shows it: {'yes' if image.contains else 'no':4} probably {image.probability:.2f}")""",
    """\
## Take the masks along

COCO is written by every run. Other tools have their own formats: `segvote.EXPORTS` lists them.""",
    """\
print(", ".join(segvote.EXPORTS))
print(segvote.export("run", "yolo"))""",
    """\
## Where to go on

[Choosing images](choosing-images.md) makes more difference than any setting. [Reviewing](review.md) corrects what is
wrong with clicks. [The gallery](auto_gallery/index) shows how voting works. [Why did it select that?](why.md) answers
what people ask.""",
]


def make_notebook() -> nbformat.NotebookNode:
    """Cells with names that do not change from one writing to the next."""
    makers = (new_markdown_cell, new_code_cell)
    cells = [makers[index % 2](text, id=f"cell-{index:02d}") for index, text in enumerate(CELLS)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def main() -> None:
    notebook = make_notebook()
    nbclient.NotebookClient(notebook, timeout=300, record_timing=False).execute()
    notebook.metadata["language_info"] = {"name": "python"}  # not the versions of this machine
    nbformat.write(notebook, TUTORIAL)


if __name__ == "__main__":
    main()
