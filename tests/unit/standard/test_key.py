from __future__ import annotations

import copy
import pickle

import pytest

from ibi.standard.errors import InvalidMessage
from ibi.standard.messages import InclusionRequest, RegistrationKey, UrlKey

SECRET = "9876543210-9876543210"


def test_neither_str_nor_repr_nor_a_format_shows_a_key() -> None:
    key = RegistrationKey(SECRET)
    for shown in (str(key), repr(key), f"{key}", f"{key!r:>40}", "%s" % key, repr([key]), str({"key": key})):  # noqa: UP031
        assert "9876543210" not in shown


def test_a_request_does_not_show_its_key_except_on_the_wire() -> None:
    query = (
        "archiveaddress=host.org&archiveadmemailaddress=a@host.org&archiveip=150.163.34.239&archiveplatformversion=1&"
        f"archiveprotocol=HTTP&archiveserviceibi=LK47B6W/362SFKH&registrationkey={SECRET}&servicesubject=inclusionRequest"
    )
    request = InclusionRequest.from_query(query)
    assert SECRET not in repr(request)
    assert request.to_query() == query


def test_an_error_does_not_show_what_was_given_for_a_key() -> None:
    with pytest.raises(InvalidMessage) as refused:
        RegistrationKey(f"{SECRET} ")
    assert SECRET not in f"{refused.value} {refused.value!r} {refused.value.parameters}"


def test_keys_are_equal_if_their_digits_are() -> None:
    assert RegistrationKey(SECRET) == RegistrationKey(SECRET)
    assert hash(RegistrationKey(SECRET)) == hash(RegistrationKey(SECRET))
    assert RegistrationKey(SECRET) != RegistrationKey("9876543210")


def test_keys_of_different_kinds_are_never_equal() -> None:
    assert RegistrationKey(SECRET) != UrlKey(SECRET)
    assert RegistrationKey(SECRET) != SECRET


def test_a_key_cannot_change() -> None:
    key = RegistrationKey(SECRET)
    with pytest.raises(AttributeError):
        key._text = "1234567890"
    with pytest.raises(AttributeError):
        del key._text


def test_a_key_survives_copying_and_pickling() -> None:
    assert copy.deepcopy(UrlKey(SECRET)) == UrlKey(SECRET)
    assert pickle.loads(pickle.dumps(UrlKey(SECRET))).reveal() == SECRET
