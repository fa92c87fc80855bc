import pytest

from segvote.io.names import make_plain


@pytest.mark.parametrize(
    "text", ["two\nlines", "\x1b[31mred", "bidi\u202egnp", "\udcff raw", "tab\t", "\u2028", "\x9b31m"]
)
def test_control_characters_are_escaped(text):
    plain = make_plain(text)
    assert plain.isprintable() and plain.encode("utf-8")


def test_names_in_any_script_stay():
    assert make_plain("Kühe/牛 1.jpg") == "Kühe/牛 1.jpg"
