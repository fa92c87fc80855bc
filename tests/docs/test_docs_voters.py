"""What docs/voters.md measured about lengths of features is what the classes say."""

from markdown_pages import DOCS

from segvote.voters import VOTERS


def list_lengths():
    """Voter to the last cell of its row in the table that ends with the column *keeps*."""
    lines = (DOCS / "voters.md").read_text().splitlines()
    start = next(place for place, line in enumerate(lines) if line.rstrip().endswith("| keeps |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.strip().startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
    return {row[0]: row[-1] for row in rows}


def test_every_voter_wants_the_lengths_that_the_table_says():
    assert list_lengths() == {name: "yes" if VOTERS[name].wants_lengths else "no" for name in VOTERS}
