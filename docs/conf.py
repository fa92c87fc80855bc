"""Sphinx configuration: Markdown pages, one per question; a page per public name from its docstring; a gallery that is
run; a notebook that is shown."""

import sys
from pathlib import Path

import segvote

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "segvote"
author = "The segvote authors"
copyright = "The segvote authors"
version = release = segvote.__version__

extensions = [
    "myst_nb",  # Markdown, and notebooks beside it
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # the notebook is stored with what it printed; a test runs it
exclude_patterns = ["_build", "_ext", "examples", "gallery", "**.ipynb_checkpoints", "auto_*/*.ipynb", "auto_*/*.py"]
sphinx_gallery_conf = {
    "examples_dirs": ["examples", "gallery"],
    "gallery_dirs": ["auto_examples", "auto_gallery"],
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("gallery_pictures.save_both",),
    "reset_modules": ("gallery_pictures.set_style",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "min_reported_time": 1e9,  # pages do not differ from one machine to the next
    "write_computation_times": False,
    "show_signature": False,
    "capture_repr": (),  # what is printed, not what the last line returned
}

default_role = "py:obj"  # `name` in a docstring links to its page

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "segvote"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_sidebars = {"**": ["pages.html"], "index": []}
html_css_files = ["segvote.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": False,
    "navbar_center": [],
    "navbar_align": "left",
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
autodoc_typehints = "none"
numpydoc_show_class_members = False  # listed by the templates
numpydoc_xref_param_type = True  # types link to the pages of these classes
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = {
    **{name: f"segvote.{name}" for name in ("Settings", "Run", "OpenedRun", "ImageMask", "Geometry")},
    **{
        path.rpartition(".")[2]: f"segvote.{path}"
        for path in (
            "opened_run.RunImage",
            "run.classes.ClassRuns",
            "pipeline.predict.Predictions",
            "pipeline.explain.SegmentExplanation",
            "pipeline.doctor.Diagnosis",
            "pipeline.importing.Imported",
            "evaluation.evaluate.Evaluation",
            "evaluation.comparison.Comparison",
            "evaluation.benchmark.Benchmark",
            "evaluation.coseg.CosegResult",
        )
    },
}
autosummary_generate = True  # docs/api/, from the lists of docs/api.md and the templates of docs/_templates/autosummary
KINDS = {"VOTERS": "voter", "SEGMENTERS": "segmenter", "FEATURES": "feature", "EXPORTS": "export"}
autosummary_context = {
    "registries": {
        name: {"kind": kind, "page": f"{kind}s", "names": list(getattr(segvote, name))} for name, kind in KINDS.items()
    },
    "version": repr(version),
}
suppress_warnings = ["myst.header", "config.cache"]
