"""What the two forms have in common, and `parse` for either."""

from __future__ import annotations

import operator

import pytest

import ibi
from ibi import Ibip, Instant, InvalidLabel, Label, RepositoryName
from ibi.standard.label.label import canonical_prefix


def test_both_forms_are_labels() -> None:
    assert issubclass(RepositoryName, Label)
    assert issubclass(Ibip, Label)


def test_a_label_of_no_form_cannot_be_parsed() -> None:
    with pytest.raises(TypeError):
        Label.parse("8JMKD3MGP8W/34PGRBS")


@pytest.mark.parametrize("text", ["8JMKD3MGP8W/34PGRBS", "sid.inpe.br/mtc-m18/2009/02.16.17.46"])
def test_no_attribute_can_be_added(text: str) -> None:
    assert not hasattr(ibi.parse(text), "__dict__")


@pytest.mark.parametrize(
    ("text", "form"), [("8JMKD3MGP8W/34PGRBS", Ibip), ("sid.inpe.br/mtc-m18/2009/02.16.17.46", RepositoryName)]
)
def test_parse_tells_the_forms_apart(text: str, form: type[Label]) -> None:
    assert type(ibi.parse(text)) is form


def test_labels_are_keys() -> None:
    shelf = {ibi.parse("8JMKD3MGP8W/34PGRBS"): "one"}
    assert shelf[ibi.parse("8jmkd3mgp8w/34pgrbs")] == "one"


@pytest.mark.parametrize("other", [None, 1, "8JMKD3MGP8W/34PGRBS", ibi.Instant(1234806360)])
def test_a_label_is_compared_with_labels_only(other: object) -> None:
    label = ibi.parse("8JMKD3MGP8W/34PGRBS")
    assert label != other
    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        with pytest.raises(TypeError):
            compare(label, other)  # type: ignore[arg-type]


# --- the IBIp as a value ---------------------------------------------------------------------------------------------


IBIP = "8JMKD3MGP3W34T/47GAF6S"


def test_an_ibip_has_the_parts_of_its_text() -> None:
    label = Ibip.parse(IBIP)
    assert label.form == "ibip"
    assert label.prefix == "8JMKD3MGP3W34T"
    assert label.suffix == "47GAF6S"
    assert (label.ip, label.port) == ("150.163.34.239", 808)
    assert str(label.instant) == "2022-08-25T11:46:00Z"
    assert label.is_global
    assert repr(label) == f"Ibip.parse({IBIP!r})"


def test_the_spelling_of_an_ibip_is_kept_and_the_text_is_canonical() -> None:
    label = Ibip.parse(IBIP.lower())
    assert label.spelling == IBIP.lower()
    assert str(label) == IBIP


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


def test_an_ibip_is_not_made_by_its_class_alone() -> None:
    with pytest.raises(TypeError):
        Ibip()


def test_labels_of_both_forms_sort_by_instant_first() -> None:
    older = RepositoryName.parse("z.z/z/2000/01.01.00.00")
    newer = Ibip.parse("LK47B6W/362SFKH")
    assert sorted([newer, older]) == [older, newer]


# --- the repository name as a value ----------------------------------------------------------------------------------


NAME = "sid.inpe.br/mtc-m18@80/2009/02.16.17.46"


def test_a_repository_name_has_the_parts_of_its_text() -> None:
    label = RepositoryName.parse(NAME)
    assert label.form == "rep"
    assert label.prefix == "sid.inpe.br/mtc-m18@80"
    assert label.suffix == "2009/02.16.17.46"
    assert label.host == "mtc-m18.sid.inpe.br"
    assert label.port == 80
    assert label.instant == Instant(1234806360)
    assert label.is_global
    assert repr(label) == f"RepositoryName.parse({NAME!r})"


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("br/inpe/2009/02.16.17.46", "inpe.br", 80),
        ("br/inpe.8080/2009/02.16.17.46", "inpe.br", 8080),
        ("br/inpe@8080/2009/02.16.17.46", "inpe.br", 8080),
        ("localhost/ibi.8765/2026/01.01.00.00", "ibi.localhost", 8765),
        ("b/80/2009/02.16.17.46", "80.b", 80),
        ("b/80.81/2009/02.16.17.46", "80.b", 81),
    ],
)
def test_host_and_port(text: str, host: str, port: int) -> None:
    label = RepositoryName.parse(text)
    assert (label.host, label.port) == (host, port)


def test_the_spelling_of_a_repository_name_is_kept_and_the_text_is_canonical() -> None:
    label = RepositoryName.parse("SID.INPE.br./MTC-m18@80/2009/02.16.17.46.00.0")
    assert label.spelling == "SID.INPE.br./MTC-m18@80/2009/02.16.17.46.00.0"
    assert str(label) == NAME
    assert label == RepositoryName.parse(NAME)


def test_a_host_whose_label_would_read_as_an_ibip_gets_none() -> None:
    """E17: two segments that are an IBIp are one."""
    with pytest.raises(InvalidLabel, match="IBIp"):
        RepositoryName.from_parts("362sfkh.lk47b6w", 80, Instant(0))


def test_a_label_that_reads_as_an_ibip_and_a_path_is_no_repository_name() -> None:
    for text in ("LK47B6W/362SFKH/2010/08.25.12.38", "lk47b6w./362sfkh/2010/08.25.12.38"):
        with pytest.raises(InvalidLabel, match="path"):
            RepositoryName.parse(text)


def test_a_host_that_only_resembles_an_ibip_gets_a_label() -> None:
    for host in ("362sfkh.lk47b6", "362sfkh.x.lk47b6w", "362sfki.lk47b6w"):
        label = RepositoryName.from_parts(host, 80, Instant(0))
        assert ibi.parse(str(label)) == label


def test_long_texts_are_not_kept_in_memory() -> None:
    """Prefixes are remembered; what is too long for one must not be, or four thousand requests fill the memory."""
    canonical_prefix.cache_clear()
    for number in range(5):
        with pytest.raises(InvalidLabel):
            RepositoryName.parse(f"{'a' * 100_000}{number}/x/2009/02.16.17.46")
    assert canonical_prefix.cache_info().currsize == 0


def test_a_repository_name_is_not_made_by_its_class_alone() -> None:
    """Without `parse` or `from_parts` there is nothing to compare, write or order."""
    with pytest.raises(TypeError):
        RepositoryName()
