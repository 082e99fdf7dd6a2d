"""G Table 7.2: examples of CONVERTTODECIMAL."""

from __future__ import annotations

import pytest

from ibi.standard.label.grammar import IPV4, IPV6, convert_to_decimal


def test_an_ipv4_address_is_a_number_in_base_11() -> None:
    assert convert_to_decimal("150.163.2.174", IPV4) == 4588904456580


def test_an_ipv6_address_is_a_number_in_base_17() -> None:
    assert convert_to_decimal("2001:252:0:1::2008:6", IPV6) == 478239719325051908572237


@pytest.mark.parametrize("text", ["150.163.2.174 ", "a", "-1", "١"])
def test_what_is_not_in_the_table_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        convert_to_decimal(text, IPV4)
