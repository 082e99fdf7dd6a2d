"""Signed statements: what is taken, and what is not."""

from __future__ import annotations

from base64 import urlsafe_b64encode

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.standard.signing import InvalidKey, InvalidStatement, PublicKey, SigningKey, read_statement, sign_statement

KEY = SigningKey(bytes(range(32)))
OTHER = SigningKey(bytes(range(1, 33)))


def encode(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    from base64 import urlsafe_b64decode

    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def test_the_key_of_rfc_8037_signs_as_its_example_does() -> None:
    seed = decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A")
    key = SigningKey(seed)
    assert str(key.public) == "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
    signed = b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
    expected = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
    assert encode(key.sign(signed)) == expected
    assert key.public.verifies(decode(expected), signed)


@given(st.dictionaries(st.text(max_size=20), st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text()))
def test_a_statement_is_read_as_it_was_made(claims: dict[str, object]) -> None:
    read = read_statement(sign_statement("release", claims, KEY), "release")
    assert (read.kind, read.signer, read.claims) == ("release", KEY.public, claims)


@given(st.data())
def test_a_statement_with_one_other_character_is_refused(data: st.DataObject) -> None:
    text = sign_statement("release", {"label": "iconet.com.br/banon/2001/02.10.22.55"}, KEY)
    place = data.draw(st.integers(0, len(text) - 1))
    letter = data.draw(st.characters(exclude_characters=text[place]))
    with pytest.raises(InvalidStatement):
        read_statement(text[:place] + letter + text[place + 1 :], "release")


def test_one_kind_is_not_passed_off_as_another() -> None:
    with pytest.raises(InvalidStatement, match="another kind"):
        read_statement(sign_statement("release", {}, KEY), "register")


@pytest.mark.parametrize(
    "header",
    [
        {"alg": "none", "kid": str(KEY.public), "typ": "ibi-release+jws"},
        {"alg": "HS256", "kid": str(KEY.public), "typ": "ibi-release+jws"},
        {"alg": "EdDSA", "kid": str(KEY.public)},
        {"alg": "EdDSA", "kid": "AAAA", "typ": "ibi-release+jws"},
        {"alg": "EdDSA", "kid": str(KEY.public), "typ": "ibi-release+jws", "jku": "http://evil.example/"},
        {"alg": "EdDSA", "kid": str(OTHER.public), "typ": "ibi-release+jws"},
        [],
    ],
)
def test_other_headers_are_refused_however_well_they_are_signed(header: object) -> None:
    signed = f"{encode(msgspec.json.encode(header))}.{encode(b'{}')}"
    with pytest.raises(InvalidStatement):
        read_statement(f"{signed}.{encode(KEY.sign(signed.encode()))}", "release")


@pytest.mark.parametrize("payload", [b"", b"[]", b"1", b"\xff", b"{" * 5000, b'{"a":' * 5000])
def test_what_is_no_object_is_refused(payload: bytes) -> None:
    header = {"alg": "EdDSA", "kid": str(KEY.public), "typ": "ibi-release+jws"}
    signed = f"{encode(msgspec.json.encode(header))}.{encode(payload)}"
    with pytest.raises(InvalidStatement):
        read_statement(f"{signed}.{encode(KEY.sign(signed.encode()))}", "release")


@pytest.mark.parametrize("text", ["", ".", "..", "...", "a.b", "a.b.c.d", "é.é.é", "=.=.=", "x" * 100, "." * 100_000])
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(InvalidStatement):
        read_statement(text, "release")


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=70), st.binary(max_size=20))
def test_keys_that_are_no_point_of_the_curve_verify_nothing(raw: bytes, signature: bytes, signed: bytes) -> None:
    assert not PublicKey(raw).verifies(signature, signed)


@given(st.binary(min_size=32, max_size=32))
def test_a_public_key_is_read_as_it_is_written(raw: bytes) -> None:
    assert PublicKey.parse(str(PublicKey(raw))) == PublicKey(raw)


@pytest.mark.parametrize("text", ["", "AAAA", "é", "A" * 44, str(KEY.public) + "=", " " + str(KEY.public)])
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(InvalidKey):
        PublicKey.parse(text)


def test_a_private_key_is_not_shown() -> None:
    assert KEY.seed.hex() not in repr(KEY)
    assert "seed" not in repr(KEY)
