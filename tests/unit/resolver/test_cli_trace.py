"""What `ibi trace` says of an answer."""

from __future__ import annotations

import pytest

from ibi.resolver.cli.trace import _lines

REP = "lab.br/arq/2009/07.21.14.43"


def lines(**one: object) -> list[str]:
    """What is shown of one Archive."""
    told = {"address": "a.example.org", "seconds": 0.001, "failure": None, "broken_rule": None, "said": None, **one}
    hop = {"number": 0, "parent": None, "label": REP, "relation": "", "reason": "it was asked for"}
    record = {
        "persistent_url": f"http://r.example.org/{REP}",
        "said": "It is nowhere.",
        "url": None,
        "seconds": 0.5,
        "hops": [{**hop, "archives": [told]}],
    }
    return _lines(record)[2:-1]


@pytest.mark.parametrize(
    ("rule", "shown"),
    [
        ("is_about_the_item", "the answer broke a rule: it is about another item"),
        ("is_new_to_this_command", "the answer broke a rule: is_new_to_this_command"),
    ],
)
def test_a_rule_is_told_in_words(rule: str, shown: str) -> None:
    assert lines(why="the answer broke a rule", broken_rule=rule) == [f"     a.example.org      1.0 ms  {shown}"]


def test_what_an_archive_said_is_shown_but_not_who_it_is() -> None:
    said = {
        "url": "http://a.example.org/x",
        "archiveaddress": "a.example.org",
        "ibi.archiveservice": "rep x",
        "ibi": "y",
    }
    assert lines(why="its URL was chosen", said=said) == [
        "     a.example.org      1.0 ms  its URL was chosen",
        "       ibi y",
        "       url http://a.example.org/x",
    ]
