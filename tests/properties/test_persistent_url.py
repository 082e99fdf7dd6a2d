from __future__ import annotations

from urllib.parse import unquote_to_bytes

from hypothesis import assume, given
from hypothesis import strategies as st

from ibi.standard.errors import InvalidPersistentUrl
from ibi.standard.label import Label, RepositoryName
from ibi.standard.messages import UrlRequest, ip_addresses
from ibi.standard.persistent_url import PersistentUrl, QueryPair
from tests.properties.label_strategies import instants, labels, ports
from tests.properties.relation_strategies import registered_tags, relations

# Some that begin like the prefixes of E21
odd_labels = st.builds(
    RepositoryName.from_parts, st.sampled_from(["lk47b6w.rep", "rep.ibi", "ibi.ibi"]), ports, instants
)
any_labels: st.SearchStrategy[Label] = labels | odd_labels

# Names of files, those preferred that look like something else
ODD_SEGMENTS = [
    *(
        "!",
        "+",
        ":(oai_dc)",
        "-TDI",
        "??",
        "?",
        "...",
        ".a",
        "a.",
        "%",
        "%41",
        "%zz",
        "&=+#",
        ";)",
        "{x}",
        "~",
        "http:",
    ),
    *("ibi", "rep", "ibi:", "2010", "08.25.12.38", "LK47B6W", "362SFKH"),
    *(" a", "é", "ó\xa0", "\ufeff", "\u202e", "𝔸", "a\x85"),
]
segments = st.sampled_from(ODD_SEGMENTS) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="/\\\x7f" + "".join(map(chr, range(32)))),
    min_size=1,
    max_size=12,
).filter(lambda segment: segment not in (".", ".."))
file_paths = (
    st.lists(segments, min_size=1, max_size=4)
    .map(lambda parts: "/" + "/".join(parts))
    .filter(lambda path: path[-1] != " ")
)

CLIENTS = ip_addresses("150.163.2.175")
NAME_CHARACTERS = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in "#&=")
names = st.sampled_from(["a", "?", "?a", "ibiurl", "ibiurlx.a", "servicesubject", "%69"]) | st.text(
    NAME_CHARACTERS, max_size=6
)
values = st.sampled_from(["", "%41", "%f3", "+", "?", "a=b"]) | st.text(f"{NAME_CHARACTERS}=", max_size=6)


def is_pair(pair: QueryPair) -> bool:
    name, value = pair
    return (name != "" or value is not None) and not name.lower().replace("%2e", ".").startswith("ibiurl.")


pairs: st.SearchStrategy[QueryPair] = st.tuples(names, st.none() | values).filter(is_pair)
urls = st.builds(
    PersistentUrl,
    any_labels,
    relations(),
    st.booleans(),
    st.none() | file_paths,
    st.booleans(),
    st.none() | registered_tags.map(str),
    st.lists(pairs, max_size=4).map(tuple),
)
bases = st.sampled_from(["", "http://urlib.net/", "https://resolver.example.org:8443", "HTTP://[2001:db8::1]:80/"])

PIECES = [
    *(
        "/",
        "/8JMKD3MGP8W/35MME4E",
        "sid.inpe.br/mtc-m18@80/2009/07.21.13.23",
        "http://urlib.net/",
        "ibi:",
        "ibi/",
        "rep/",
    ),
    *(
        "?",
        "??",
        "&",
        "=",
        "#",
        "!",
        "+",
        ":",
        "(",
        ")",
        "+(pt)",
        ":(oai_dc)",
        "-TDI",
        ".",
        ",",
        ";",
        "\\",
        "..",
        "/a.pdf",
    ),
    *("%20", "%2F", "%2e", "%00", "%f3", "%C3%B3", "%", "é", "\ud800", " "),
    *("a=b", "ibiurl.", "ibiurl.verblist=", "GetMetadata", "GetFileList", "ibiurl.language=pt"),
]
broken_texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=8).map("".join)


@given(urls, bases)
def test_every_persistent_url_reads_back(url: PersistentUrl, base: str) -> None:
    assert PersistentUrl.parse(str(url)) == url
    assert PersistentUrl.parse(url.text(base)) == url
    assert PersistentUrl.parse("/" + url.text("")) == url


@given(urls)
def test_what_is_written_is_ascii_without_blanks_and_canonical(url: PersistentUrl) -> None:
    text = str(url)
    assert all("!" <= character <= "~" for character in text)
    assert str(PersistentUrl.parse(text)) == text


@given(urls, st.sampled_from([str.upper, str.lower, str.swapcase]), st.sampled_from(["/", "/ibi/", "/REP/", "Ibi:"]))
def test_case_of_the_label_and_a_prefix_change_nothing(url: PersistentUrl, change: object, prefix: str) -> None:
    assert callable(change)
    spelling = change(str(url.label))
    written = url.text("").removeprefix(str(url.label))
    read = PersistentUrl.parse(f"{prefix}{spelling}{written}")
    assert read == url
    assert read.label.spelling == spelling
    assert PersistentUrl.parse(read.text("", keep_spelling=True)) == url


@given(urls, st.data())
def test_encoding_more_of_the_path_changes_nothing(url: PersistentUrl, data: st.DataObject) -> None:
    path, mark, query = url.text("").partition("?")
    chosen = data.draw(st.sets(st.sampled_from(sorted(set(path) - {"%"}))))
    # What an escape is made of cannot be encoded on its own.
    assume("%" not in path or not chosen & set("0123456789ABCDEFabcdef"))
    encoded = "".join(f"%{ord(sign):02x}" if sign in chosen else sign for sign in path)
    assert PersistentUrl.parse(f"/{encoded}{mark}{query}") == url


@given(urls)
def test_encoding_the_whole_path_changes_nothing(url: PersistentUrl) -> None:
    path = f"{url.label}{url.relation.modifier}{url.file_path or '/'}"
    query = url.text("").partition("?")[2]
    encoded = "".join(f"%{byte:02X}" for byte in path.encode())
    assert PersistentUrl.parse(f"http://urlib.net/{encoded}?{query}") == url


@given(urls)
def test_pairs_for_the_item_come_through_byte_for_byte_and_the_resolvers_do_not(url: PersistentUrl) -> None:
    read = PersistentUrl.parse(f"{url}#fragment")
    assert read.query_string == url.query_string
    assert "ibiurl.requireditemstatus" not in read.query_string.lower()


@given(broken_texts | st.text())
def test_any_text_is_a_persistent_url_or_refused(text: str) -> None:
    check_one_outcome(text)


@given(urls, st.data())
def test_a_persistent_url_that_was_spoilt_is_read_or_refused(url: PersistentUrl, data: st.DataObject) -> None:
    text = str(url)
    cut = data.draw(st.integers(0, len(text)))
    skip = data.draw(st.integers(0, 3))
    check_one_outcome(text[:cut] + data.draw(broken_texts) + text[cut + skip :])


def check_one_outcome(text: str) -> None:
    """It parses, and what it parses to reads back; or the one documented error says why not."""
    try:
        url = PersistentUrl.parse(text)
    except InvalidPersistentUrl as error:
        assert 0 <= error.offset <= len(error.text)
        assert str(error)
    else:
        assert PersistentUrl.parse(str(url)) == url
        assert not any(name.lower().startswith("ibiurl.") for name, _ in url.query)


octet_runs = st.binary(max_size=12) | st.sampled_from([b"%", b"%f3", b"\xf3", b"\xc3\xb3", b"\xc3", b"+&=?#", b"a"])
octet_names = (
    st.lists(octet_runs, min_size=1, max_size=5)
    .map(b"".join)
    .map(lambda name: bytes(byte for byte in name if byte > 0x1F and byte not in b"\x7f/\\"))
    .filter(lambda name: name.strip(b" ") == name and name not in (b"", b".", b".."))
)
encodings = st.sampled_from(["%{:02x}", "%{:02X}"])


def link_to(name: bytes, encoding: str, raw: bool) -> str:
    """A link whose path has these octets: 8-bit ones raw or encoded."""
    plain = b"/-._~!$'()*,;:@0123456789abcdefghijklmnopqrstuvwxyz"
    path = bytearray()
    for byte in name:
        path += bytes((byte,)) if byte in plain or (raw and byte > 0x7F) else encoding.format(byte).encode()
    return (b"/LK47B6W/362SFKH/" + bytes(path)).decode("utf-8", "surrogateescape")


@given(octet_names, encodings, st.booleans())
def test_any_octets_of_a_path_arrive_unchanged(name: bytes, encoding: str, raw: bool) -> None:
    url = PersistentUrl.parse(link_to(name, encoding, raw))
    request = UrlRequest(CLIENTS, url.label, file_path=url.file_path, spelled_path=url.spelled_path)
    (value,) = (pair[22:] for pair in request.to_query().split("&") if pair.startswith("parsedibiurl.filepath="))
    assert value.isascii()
    assert unquote_to_bytes(value) == b"/" + name
    arrived = UrlRequest.from_query(request.to_query())
    assert (arrived, arrived.to_query()) == (request, UrlRequest.from_query(arrived.to_query()).to_query())
    assert (arrived.file_path or "").encode("utf-8", "surrogateescape") == b"/" + name


@given(octet_names, encodings, st.booleans())
def test_what_is_written_has_the_octets_that_were_read(name: bytes, encoding: str, raw: bool) -> None:
    url = PersistentUrl.parse(link_to(name, encoding, raw))
    assert PersistentUrl.parse(str(url)) == url
    assert unquote_to_bytes(url.text("")) == b"LK47B6W/362SFKH/" + name
    shown = url.shown_path or ""
    assert shown.encode().decode() == shown


@given(octet_names, encodings, st.booleans())
def test_the_link_of_an_acknowledgment_is_the_link_that_came(name: bytes, encoding: str, raw: bool) -> None:
    link = link_to(name, encoding, raw)
    received = PersistentUrl.parse(f"{link}?a=b&c=%f3").as_received("http://urlib.net/")
    assert received == f"http://urlib.net{link}?a=b&c=%f3"
