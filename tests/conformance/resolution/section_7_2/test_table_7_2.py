"""R Table 7.2: the eight pairs of the requests for inclusion and exclusion."""

from __future__ import annotations

import pytest

from ibi.standard.errors import InvalidMessage
from ibi.standard.messages import ArchiveProtocol, MissingPair, MissingSubject, RepeatedPair, parse_request

PAIRS = {
    "servicesubject": "inclusionRequest",
    "archiveaddress": "mtc-m21.sid.inpe.br",
    "archiveserviceibi": "sid.inpe.br/mtc-m21/2012/06.05.15.34.39",
    "archiveip": "150.163.34.239",
    "archiveprotocol": "HTTP",
    "archiveplatformversion": "2014:11.09.02.16.15",
    "archiveadmemailaddress": "banon@dpi.inpe.br",
    "registrationkey": "1234567890",
}


def query(**changed: str) -> str:
    return "&".join(f"{name}={value}" for name, value in {**PAIRS, **changed}.items())


@pytest.mark.parametrize("subject", ["inclusionRequest", "exclusionRequest"])
@pytest.mark.parametrize("name", PAIRS)
def test_every_pair_is_obligatory(subject: str, name: str) -> None:
    pairs = {**PAIRS, "servicesubject": subject}
    del pairs[name]
    with pytest.raises(MissingSubject if name == "servicesubject" else MissingPair, match=name):
        parse_request("&".join(f"{name}={value}" for name, value in pairs.items()))


@pytest.mark.parametrize("name", PAIRS)
def test_no_pair_may_be_there_twice(name: str) -> None:
    with pytest.raises(RepeatedPair, match=name):
        parse_request(f"{query()}&{name}={PAIRS[name]}")


def test_pairs_that_the_table_does_not_have_are_ignored_however_often_they_come() -> None:
    assert parse_request(f"{query()}&colour=red&colour=blue&lone&=&&") == parse_request(query())


@pytest.mark.parametrize(
    "address",
    [
        "mtc-m21.sid.inpe.br",
        "mtc-m21.sid.inpe.br:8080",
        "localhost:8765",
        "150.163.34.239",
        "[2001:db8::1]:80",
        "a_b.org",
    ],
)
def test_an_address_is_a_host_with_or_without_a_port(address: str) -> None:
    assert f"archiveaddress={address}".replace("[", "%5B").replace("]", "%5D") in parse_request(
        query(archiveaddress=address)
    ).to_query().split("&")


@pytest.mark.parametrize(
    "address",
    [
        "",
        "host/path",
        "http://host",
        "user@host",
        "host:",
        "host:0",
        "host:65536",
        "host:080",
        "host%0D%0Aevil",
        "-host.org",
        "host..org",
        "a" * 64 + ".org",
        "h.org." * 50,
        "127.1",
        "0x7f000001",
        "2130706433",
        "256.1.1.1",
        "[150.163.34.239]",
        "[fe80::1%25eth0]",
        "[::1",
        "exa%C3%A9.org",
        "host%00",
    ],
)
def test_nothing_else_is_an_address(address: str) -> None:
    with pytest.raises(InvalidMessage, match="archiveaddress"):
        parse_request(query(archiveaddress=address))


@pytest.mark.parametrize("label", ["sid.inpe.br/mtc-m21/2012/06.05.15.34.39", "8JMKD3MGP3W34T/47GAF6S"])
def test_the_service_is_named_by_either_form_of_a_label(label: str) -> None:
    assert f"archiveserviceibi={label}" in parse_request(query(archiveserviceibi=label)).to_query()


@pytest.mark.parametrize(
    "label", ["", "sid.inpe.br", "sid.inpe.br/mtc-m21/2012/02.30.15.34", "8JMKD3MGP3W34T/47GAF6S%20"]
)
def test_nothing_else_names_the_service(label: str) -> None:
    with pytest.raises(InvalidMessage, match="archiveserviceibi"):
        parse_request(query(archiveserviceibi=label))


@pytest.mark.parametrize("ip", ["150.163.34.239", "2001:db8::1"])
def test_the_ip_is_of_either_version(ip: str) -> None:
    assert f"archiveip={ip}" in parse_request(query(archiveip=ip)).to_query()


@pytest.mark.parametrize("ip", ["", "150.163.34", "150.163.34.239%20150.163.34.240", "host.org", "fe80::1%25eth0", "1"])
def test_nothing_else_is_an_ip(ip: str) -> None:
    with pytest.raises(InvalidMessage, match="archiveip"):
        parse_request(query(archiveip=ip))


@pytest.mark.parametrize("protocol", ["", "USP", "HTTPX", "FTP"])
def test_a_protocol_that_the_standard_does_not_define_is_refused(protocol: str) -> None:
    with pytest.raises(InvalidMessage, match="archiveprotocol"):
        parse_request(query(archiveprotocol=protocol))


def test_the_protocol_is_read_in_any_case_and_written_as_in_the_table() -> None:
    request = parse_request(query(archiveprotocol="http"))
    assert request == parse_request(query())
    assert f"archiveprotocol={ArchiveProtocol.HTTP.value}" in request.to_query()


@pytest.mark.parametrize("version", ["2014:11.09.02.16.15", "0.1.0", "{a%26b}", "x" * 256])
def test_a_version_is_any_ascii_word(version: str) -> None:
    parse_request(query(archiveplatformversion=version))


@pytest.mark.parametrize("version", ["", "1%200", "1+0", "%C3%A9", "a%0Ab", "x" * 257])
def test_nothing_else_is_a_version(version: str) -> None:
    with pytest.raises(InvalidMessage, match="archiveplatformversion"):
        parse_request(query(archiveplatformversion=version))


@pytest.mark.parametrize("address", ["banon@dpi.inpe.br", "o'neil%2Bibi@host", "a.b-c_d@localhost"])
def test_an_administrator_has_a_mail_address(address: str) -> None:
    assert f"archiveadmemailaddress={address}" in parse_request(query(archiveadmemailaddress=address)).to_query()


@pytest.mark.parametrize(
    "address",
    [
        "",
        "banon",
        "@host",
        "a@",
        "a@b@c",
        "a%20b@c",
        "a@b%0D%0ABcc:c@d",
        "a,b@c",
        "<a@b>",
        "a@b;c@d",
        "é@b",
        "a..b@c",
        ".a@b",
        "%3D?utf-8?q?x?%3D@b",
        "a" * 65 + "@b",
    ],
)
def test_nothing_else_is_a_mail_address(address: str) -> None:
    with pytest.raises(InvalidMessage, match="archiveadmemailaddress"):
        parse_request(query(archiveadmemailaddress=address))


def test_a_wrong_key_is_refused_without_being_quoted() -> None:
    with pytest.raises(InvalidMessage, match="registrationkey") as refused:
        parse_request(query(registrationkey="98765"))
    assert "98765" not in f"{refused.value!r} {refused.value} {refused.value.parameters}"
