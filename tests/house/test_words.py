"""The words of the field in the code, too: names, comments, docstrings, templates and the page speak no dialect."""

import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "segvote"
ENDINGS = {".py", ".js", ".html", ".css"}
# What must not be read, as a part of a name or alone, and what is written instead.
DIALECT = {
    r"the things?|a thing": "object",
    r"tag|tags|tagged": "bag label",
    r"suspects?|muted?|no.say": "likely mislabelled, exclude",
    r"doubts?|dissent": "uncertainty",
    r"twins?": "near-duplicate",
    r"made.scenes?": "synthetic scenes",
    r"a.person said|what was said|user said": "user label, correction",
    r"hears?|heard": "neighbours, aggregate",
    r"what is alike|near whom": "inverted lists (IVF), k-NN cache",
    r"all.alike|elect|elected|nobody.in.particular": "re-vote with hard labels; intercept",
    r"false.alarms?": "false-positive rate",
    r"survival|survives?": "background prior",
    r"company|heaps|loudest": "background that always co-occurs; histogram; highest score first",
    r"n.pieces|fine pieces": "superpixels",
    r"CutImage|images are described|DescribedImage": "SegmentedImage, extract features",
    r"lent|Room": "workspace, shared array",
    r"verdicts?": "result",
}
# Where a word is right, and why.
ALLOWED = (
    (r"cli/options\.py", r'"--[\w-]+": "--[\w-]+"', "options of the last version, understood with a hint"),
    (r"run/(settings|bag_record|inputs)\.py", r'"\w+": "\w+"|DROPPED = .*', "names in the records of old runs"),
    (r"integrations/label_studio\.py", r'"--false-alarms"', "an option of the last version"),
    (r".*\.py", r"__sklearn_tags__|classifier_tags|\btags\b(?=\.classifier| = super)|return tags", "scikit-learn's"),
    (r"io/.*\.py", r"\w*_?TAG\b|page\.tags|tag_v2|\btags\b|ExifTags", "tags of TIFF and EXIF"),
    (r"io/(exports/(cvat|label_studio)|imports/cvat)\.py", r"\btag\b", "elements of XML"),
    (r"report/films\.py", r"controls muted", "an attribute of HTML"),
)


def list_dialect(name, text):
    for where, what, _ in ALLOWED:
        if re.fullmatch(where, name):
            text = re.sub(what, lambda found: " " * len(found[0]), text)
    return [
        f"{name}:{text.count(chr(10), 0, found.start()) + 1}: {found[0]!r}: write {better}"
        for words, better in DIALECT.items()
        for found in re.finditer(rf"(?<![a-z])(?:{words})(?![a-z])", text, 0 if "Room" in words else re.IGNORECASE)
    ]


def test_the_code_uses_the_words_of_the_field():
    paths = sorted(path for path in SOURCE.rglob("*") if path.suffix in ENDINGS)
    assert len(paths) > 300
    names = {path.relative_to(SOURCE).as_posix(): path.read_text() for path in paths}
    assert [line for name, text in names.items() for line in list_dialect(name, text)] == []


def test_the_names_of_tests_use_the_words_of_the_field():
    names = {path.name: path.read_text() for path in Path(__file__).parents[1].rglob("test_*.py")}
    found = {name: "\n".join(re.findall(r"(?<=def )test_\w+", text)) for name, text in names.items()}
    assert [line for name, text in found.items() for line in list_dialect(name, text)] == []


def test_dialect_is_noticed_in_names_and_comments_and_not_where_it_is_right():
    text = 'n_heard = 3\nself.isMuted = true  # the thing\n"--no-mute-suspects": "--no-exclude-mislabelled",\n'
    words = ["thing", "heard", "suspects"]
    assert [any(word in line for line in list_dialect("a.py", text)) for word in words] == [True] * 3
    assert not any("suspects" in line for line in list_dialect("cli/options.py", text))


def test_every_exception_is_needed():
    texts = {path.relative_to(SOURCE).as_posix(): path.read_text() for path in SOURCE.rglob("*.py")}
    unused = [
        reason
        for where, what, reason in ALLOWED
        if not any(re.search(what, text) for name, text in texts.items() if re.fullmatch(where, name))
    ]
    assert unused == []
