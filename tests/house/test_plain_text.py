import pytest

from segvote.plain_text import make_plain


@pytest.mark.parametrize(
    "text", ["two\nlines", "\x1b[31mred", "bidi\u202egnp", "\udcff raw", "tab\t", "\u2028", "\x9b31m"]
)
def test_nothing_that_a_terminal_obeys_is_left(text):
    plain = make_plain(text)
    assert plain.isprintable() and plain.encode("utf-8")


def test_names_in_any_writing_stay_as_they_are():
    assert make_plain("Kühe/牛 1.jpg") == "Kühe/牛 1.jpg"
