"""The IBIp as a value."""

from __future__ import annotations

import pytest

import ibi
from ibi import Ibip, Instant, InvalidLabel, RepositoryName

TEXT = "8JMKD3MGP3W34T/47GAF6S"


def test_an_ibip_has_the_parts_of_its_text() -> None:
    label = Ibip.parse(TEXT)
    assert label.form == "ibip"
    assert label.prefix == "8JMKD3MGP3W34T"
    assert label.suffix == "47GAF6S"
    assert (label.ip, label.port) == ("150.163.34.239", 808)
    assert str(label.instant) == "2022-08-25T11:46:00Z"
    assert label.is_global
    assert repr(label) == f"Ibip.parse({TEXT!r})"


def test_the_spelling_is_kept_and_the_text_is_canonical() -> None:
    label = Ibip.parse(TEXT.lower())
    assert label.spelling == TEXT.lower()
    assert str(label) == TEXT


def test_the_other_form_of_the_same_instant_is_another_label() -> None:
    ibip = ibi.parse("LK47B6W/362SFKH")
    rep = ibi.parse("iconet.com.br/banon/2009/09.09.22.01")
    assert ibip.instant == rep.instant
    assert ibip != rep
    assert ibip < rep  # `ibip` comes before `rep`


@pytest.mark.parametrize("port", [1, 79, 80, 799, 800, 801, 65535])
@pytest.mark.parametrize("ip", ["1.1.1.1", "255.255.255.255", "::", "2001:db8::1", "ffff::"])
def test_every_address_and_port_reads_back(ip: str, port: int) -> None:
    label = Ibip.from_parts(ip, port, Instant(1234806360, "5"))
    read = Ibip.parse(str(label))
    assert (read.ip, read.port, read.instant) == (ip, port, Instant(1234806360, "5"))


def test_a_date_before_the_first_is_refused() -> None:
    with pytest.raises(InvalidLabel):
        Ibip.from_parts("150.163.34.243", 800, Instant(0))


def test_a_label_is_not_made_by_its_class_alone() -> None:
    with pytest.raises(TypeError):
        Ibip()


def test_labels_of_both_forms_sort_by_instant_first() -> None:
    older = RepositoryName.parse("z.z/z/2000/01.01.00.00")
    newer = Ibip.parse("LK47B6W/362SFKH")
    assert sorted([newer, older]) == [older, newer]
