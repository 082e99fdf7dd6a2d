"""E16, the Archive's side: a path applies to the item that the verbs select; no such file there, no URL."""

from __future__ import annotations

import pytest

from ibi.archive.rules.answer import Assembler, answer, static_answer
from ibi.archive.rules.profile import Reader
from ibi.standard.messages import UrlList, UrlRequest, parse_url_list
from ibi.standard.messages.identification import UrlKeys
from ibi.standard.pairs import Pairs
from ibi.standard.relation import Relation
from tests.support.standards_archives import MTC_M16D, NOW

KEYS = UrlKeys(b"s" * 32)
DOC = "http://mtc-m16d.sid.inpe.br/col/iconet.com.br/banon/2009/09.09.22.01/doc"


def ask(request: UrlRequest) -> UrlList:
    found = static_answer(MTC_M16D.profile, MTC_M16D.catalog, request, NOW, KEYS)
    read = parse_url_list(Pairs.decode(found.with_key(KEYS, NOW.seconds, 1)))
    assert isinstance(read, UrlList)
    return read


@pytest.mark.parametrize("modifier", ["", "!", "+"])
def test_a_path_works_beside_verbs(modifier: str) -> None:
    entry = ask(MTC_M16D.request("LK47B6W/362SFKH", modifier, "/reference.bib")).entry(Relation.from_modifier(modifier))
    assert entry is not None
    assert entry.url == f"{DOC}/reference.bib"


@pytest.mark.parametrize("modifier", ["", "!", "+"])
def test_no_such_file_is_an_ibi_without_a_url_and_without_a_key(modifier: str) -> None:
    """So that whoever resolves knows the item to be here, and says that it has no such file."""
    answer = ask(MTC_M16D.request("LK47B6W/362SFKH", modifier, "/REFERENCE.bib"))
    entry = answer.entry(Relation.from_modifier(modifier))
    assert entry is not None
    assert (entry.url, answer.url_key) == (None, None)
    assert entry.ibi is not None


def test_get_file_list_wins_over_a_path_that_does_not_exist() -> None:
    entry = ask(MTC_M16D.request("LK47B6W/362SFKH", "", "/nothing", file_list=True)).entry()
    assert entry is not None
    assert entry.url is not None
    assert entry.url.endswith("?displaytype=FileList")


@pytest.mark.parametrize("path", ["/reference.bib", "/nothing", "/Relat\udcf3rio.pdf"])
@pytest.mark.parametrize("modifier", [":", ":(oai_dc)", "!:"])
def test_get_metadata_wins_over_a_path(modifier: str, path: str) -> None:
    answer = ask(MTC_M16D.request("LK47B6W/362SFKH", modifier, path))
    without = ask(MTC_M16D.request("LK47B6W/362SFKH", modifier))
    relation = Relation.from_modifier(modifier)
    entry = answer.entry(relation)
    assert entry is not None
    assert entry.url is not None
    assert entry == without.entry(relation)
    assert answer.url_key is not None


def test_a_path_without_verbs_names_no_file_of_metadata() -> None:
    """Which are written on demand, and are no item: the path is that of the item."""
    request = MTC_M16D.request("LK47B6W/362SFKH", "", "/reference.bib")
    answer = Assembler(MTC_M16D.profile, MTC_M16D.catalog, request, Reader(request.client_addresses, NOW))
    whole = answer.assemble_whole()
    assert isinstance(whole, UrlList)
    assert whole.entry(Relation.from_modifier(":")) is None


ODD_PATHS = ["/sub/", "//", "/../x", "/a%5Cb", "/a%00b", "a//b", "/%ED%B0%80%01"]


def ask_in_words(pairs: str) -> UrlList:
    query = f"servicesubject=urlRequest&clientinformation.ipaddress=1.2.3.4&parsedibiurl.ibi=LK47B6W/362SFKH&{pairs}"
    body, _ = answer(MTC_M16D.profile, MTC_M16D.catalog, query, NOW, 1, KEYS)
    read = parse_url_list(Pairs.decode(body))
    assert isinstance(read, UrlList), body
    return read


@pytest.mark.parametrize("path", ODD_PATHS)
@pytest.mark.parametrize("verbs", ["", "GetLastEdition", "GetTranslation"])
def test_a_path_that_cannot_be_read_is_that_of_no_file(path: str, verbs: str) -> None:
    told = ask_in_words(f"parsedibiurl.filepath={path}&parsedibiurl.verblist={verbs}")
    assert [entry.url for entry in told.entries] == [None] * len(told.entries)
    assert told.url_key is None


@pytest.mark.parametrize("path", ODD_PATHS)
@pytest.mark.parametrize("verbs", ["GetMetadata", "GetMetadata(oai_dc)", "GetLastEdition+GetMetadata"])
def test_get_metadata_wins_over_a_path_that_cannot_be_read(path: str, verbs: str) -> None:
    wanted = ask_in_words(f"parsedibiurl.verblist={verbs}")
    assert ask_in_words(f"parsedibiurl.filepath={path}&parsedibiurl.verblist={verbs}").entries == wanted.entries
    assert wanted.url_key is not None


@pytest.mark.parametrize(
    "broken", ["parsedibiurl.verblist=GetAll", "parsedibiurl.ibi=none", "clientinformation.ipaddress=x"]
)
def test_beside_anything_else_that_cannot_be_read_there_is_no_answer(broken: str) -> None:
    pairs = {
        "clientinformation.ipaddress": "1.2.3.4",
        "parsedibiurl.ibi": "LK47B6W/362SFKH",
        "parsedibiurl.filepath": "//",
    }
    name, _, value = broken.partition("=")
    pairs[name] = value
    query = "&".join(f"{name}={value}" for name, value in {"servicesubject": "urlRequest", **pairs}.items())
    assert answer(MTC_M16D.profile, MTC_M16D.catalog, query, NOW, 1, KEYS) == (b"", None)
