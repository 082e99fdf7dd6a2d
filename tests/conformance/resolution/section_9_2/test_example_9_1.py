"""R Example 9.1: DECODQS takes the value of one pair out of a query string."""

from __future__ import annotations

import pytest

from ibi.standard.messages import RepeatedPair, value_of

QS = "servicesubject=urlRequest&clientinformation.ipaddress=150.163.2.175&parsedibiurl.ibi=8JMKD3MGP7W/3EPGUE5"


def test_the_subject_is_url_request() -> None:
    assert value_of(QS, "servicesubject") == "urlRequest"


def test_a_pair_that_is_not_there_has_no_value() -> None:
    assert value_of(QS, "parsedibiurl.filepath") is None


def test_a_value_is_decoded() -> None:
    assert value_of("a=1%202+3&b=4", "a") == "1 2 3"


def test_a_pair_that_is_there_twice_has_none_either() -> None:
    with pytest.raises(RepeatedPair):
        value_of("a=1&a=1", "a")
