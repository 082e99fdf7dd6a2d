"""G §5, Examples 1 and 2: one item, named on 16 February 2009 at 17:46 UTC, in both forms."""

from __future__ import annotations

import ibi
from ibi import Ibip, Instant, RepositoryName
from ibi.standard.label.generate import mount_prefix_of_ibip, mount_suffix_of_ibip, mount_suffix_of_repository_name

INSTANT = Instant(1234806360)


def test_example_1_the_instant_gives_the_suffix() -> None:
    assert str(INSTANT) == "2009-02-16T17:46:00Z"
    assert mount_suffix_of_repository_name(INSTANT) == "2009/02.16.17.46"


def test_example_1_the_identifier_splits_into_prefix_and_suffix() -> None:
    label = ibi.parse("sid.inpe.br/mtc-m18@80/2009/02.16.17.46")
    assert isinstance(label, RepositoryName)
    assert label.prefix == "sid.inpe.br/mtc-m18@80"
    assert label.suffix == "2009/02.16.17.46"
    assert label.instant == INSTANT
    assert label.form == "rep"


def test_example_1_the_prefix_names_the_computer_and_the_port() -> None:
    label = RepositoryName.parse("sid.inpe.br/mtc-m18@80/2009/02.16.17.46")
    assert label.host == "mtc-m18.sid.inpe.br"
    assert label.port == 80


def test_example_1_the_identifier_is_written_as_it_was_read() -> None:
    text = "sid.inpe.br/mtc-m18@80/2009/02.16.17.46"
    assert str(ibi.parse(text)) == text


def test_example_2_the_posix_second_gives_the_opaque_suffix() -> None:
    assert mount_suffix_of_ibip(INSTANT) == "34PGRBS"


def test_example_2_the_address_at_port_800_gives_the_opaque_prefix() -> None:
    assert mount_prefix_of_ibip("150.163.34.243", 800) == "8JMKD3MGP8W"


def test_example_2_prefix_and_suffix_make_the_identifier() -> None:
    label = Ibip.from_parts("150.163.34.243", 800, INSTANT)
    assert str(label) == "8JMKD3MGP8W/34PGRBS"
    assert label.form == "ibip"


def test_example_2_the_identifier_gives_back_address_port_and_instant() -> None:
    label = ibi.parse("8JMKD3MGP8W/34PGRBS")
    assert isinstance(label, Ibip)
    assert (label.ip, label.port, label.instant) == ("150.163.34.243", 800, INSTANT)
    assert (label.prefix, label.suffix) == ("8JMKD3MGP8W", "34PGRBS")


def test_both_examples_are_made_from_the_same_instant() -> None:
    assert ibi.parse("sid.inpe.br/mtc-m18@80/2009/02.16.17.46").instant == ibi.parse("8JMKD3MGP8W/34PGRBS").instant
