"""G Tables 7.4, 7.5 and 7.6: the graphemes of IPv4, IPv6 and IBIp, row by row."""

from __future__ import annotations

from ibi.standard.label.grammar import IBIP, IPV4, IPV6

TABLE_7_4 = "0 1 2 3 4 5 6 7 8 9 .".split()
TABLE_7_5 = "0 1 2 3 4 5 6 7 8 9 a b c d e f :".split()
TABLE_7_6 = "2 3 4 5 6 7 8 9 A B C D E F G H J K L M N P Q R S T U".split()


def test_table_7_4_gives_the_eleven_graphemes_of_ipv4() -> None:
    assert list(IPV4) == TABLE_7_4


def test_table_7_5_gives_the_seventeen_graphemes_of_ipv6() -> None:
    assert list(IPV6) == TABLE_7_5


def test_table_7_6_gives_the_twenty_seven_graphemes_of_ibip() -> None:
    assert list(IBIP) == TABLE_7_6
    assert len(IBIP) == 27


def test_the_separators_are_no_graphemes() -> None:
    assert not set("WX") & set(IBIP)


def test_the_doubtful_and_the_reserved_characters_are_no_graphemes() -> None:
    assert not set("0O1IVYZ") & set(IBIP)
