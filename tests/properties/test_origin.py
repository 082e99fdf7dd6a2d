"""What holds for every origin. `urllib.parse` and `ipaddress` are the oracles."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

from hypothesis import given
from hypothesis import strategies as st

from ibi.standard.errors import InvalidMessage
from ibi.standard.messages.values import host_and_port
from ibi.standard.origin import DEFAULT_PORTS, InvalidOrigin, Origin, authority_of, bracketed, host_of
from tests.properties.label_strategies import mutated

schemes = st.sampled_from(sorted(DEFAULT_PORTS))
words = st.from_regex(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,20}[A-Za-z0-9_])?", fullmatch=True)
names = st.lists(words, min_size=1, max_size=4).map(".".join)
addresses = st.ip_addresses().map(str)
hosts = names | addresses
ports = st.none() | st.integers(0, 65_535)
origins = st.builds(Origin, schemes, hosts, ports)
bare_origins = st.builds(Origin, st.just(""), hosts, ports)
mutated_authorities = origins.flatmap(lambda origin: mutated(origin.authority))
tails = st.sampled_from(["", "/", "/a:1//b?c#d", "?a=/b", "#a@b:1"])


@given(origins, tails)
def test_what_is_written_reads_back(origin: Origin, tail: str) -> None:
    again = Origin.of_url(f"{origin}{tail}")
    assert again == origin
    assert hash(again) == hash(origin)
    assert str(again) == str(origin)
    assert (again.scheme, again.host, again.port) == (origin.scheme, origin.host, origin.port)


@given(bare_origins)
def test_an_authority_reads_back(origin: Origin) -> None:
    assert Origin.parse(str(origin)) == origin
    assert str(Origin.parse(str(origin))) == str(origin) == origin.authority


@given(origins, tails)
def test_urllib_finds_the_same(origin: Origin, tail: str) -> None:
    parts = urlsplit(f"{origin}{tail}")
    assert authority_of(f"{origin}{tail}") == parts.netloc == origin.authority
    assert parts.hostname == origin.host.lower()
    assert parts.port == origin.port
    assert host_of(origin.authority) == bracketed(origin.host)


@given(origins)
def test_spellings_of_one_origin_are_equal(origin: Origin) -> None:
    spelled = [
        Origin(origin.scheme, origin.host.upper(), origin.port),
        Origin(origin.scheme, f"{origin.host}.", origin.port),
        Origin(origin.scheme, origin.name, origin.effective_port),
    ]
    if origin.effective_port == DEFAULT_PORTS[origin.scheme]:
        spelled.append(Origin(origin.scheme, origin.host))
    assert {origin, *spelled} == {origin}


@given(st.ip_addresses(v=6), schemes)
def test_notations_of_one_address_are_equal(address: IPv6Address, scheme: str) -> None:
    assert (
        Origin(scheme, address.exploded) == Origin(scheme, address.compressed) == Origin(scheme, str(address).upper())
    )
    assert Origin(scheme, str(address)).address == (address.ipv4_mapped or address)


@given(origins, origins)
def test_equal_means_the_same_is_dialled(one: Origin, other: Origin) -> None:
    def dialled(origin: Origin) -> tuple[str, object, int]:
        return origin.scheme, origin.address or origin.host.lower(), origin.effective_port

    assert (one == other) == (dialled(one) == dialled(other))


@given(hosts, ports)
def test_without_a_scheme_the_default_ports_are_one(host: str, port: int | None) -> None:
    assert (Origin("", host, port) == Origin("", host)) == (port in {None, *DEFAULT_PORTS.values()})


@given(mutated_authorities)
def test_anything_is_read_or_refused(text: str) -> None:
    try:
        read = Origin.parse(text)
    except InvalidOrigin:
        return
    assert Origin.parse(str(read)) == read
    assert ip_address(read.name) == read.address if read.address else read.name == read.name.lower()


@given(mutated_authorities)
def test_what_messages_allow_is_an_origin(text: str) -> None:
    try:
        host_and_port(text)
    except InvalidMessage:
        return
    assert str(Origin.parse(text)) == text
