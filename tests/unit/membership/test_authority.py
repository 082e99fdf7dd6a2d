"""Archives as the resolver knows them are compared by what they mean."""

from __future__ import annotations

import pytest

from ibi.membership.rules.authority import ArchiveRef
from ibi.standard.messages import LabelForms
from ibi.standard.networks import network
from ibi.standard.vocabulary import ArchiveProtocol

SERVICE = LabelForms.parse("rep example.org/one/2008/03.17.15.17")
OTHER = LabelForms.parse("rep example.org/two/2008/03.17.15.17")


def ref(**others: object) -> ArchiveRef:
    return ArchiveRef(**{"service": SERVICE, "address": "one.example.org", **others})  # type: ignore[arg-type]


def test_two_that_say_the_same_are_one() -> None:
    one = ref(hosts=frozenset({"Files.example.org"}))
    other = ref(
        service=LabelForms.parse(str(SERVICE).upper().replace("REP", "rep")), hosts=frozenset({"files.example.org"})
    )
    assert one is not other
    assert (one, hash(one)) == (other, hash(other))


@pytest.mark.parametrize(
    "difference",
    [
        {"service": OTHER},
        {"address": "one.example.org:8080"},
        {"protocol": ArchiveProtocol.HTTPS},
        {"hosts": frozenset({"files.example.org"})},
        {"networks": (network("10.0.0.0/8"),)},
    ],
    ids=lambda difference: next(iter(difference)),
)
def test_a_difference_in_anything_makes_two(difference: dict[str, object]) -> None:
    assert ref() != ref(**difference)


def test_nothing_else_is_an_archive() -> None:
    assert ref() != "one.example.org"


def test_the_own_host_of_an_archive_is_declared_at_every_port_and_in_any_case() -> None:
    archive = ref(address="One.example.org:8080")
    assert archive.declares("one.EXAMPLE.org")
    assert archive.declares("one.example.org:9")
    assert not archive.declares("two.example.org")
