"""R Example 8.8, the resolver's side: what was captured, and what of it Archives learn (R Tables 8.6 to 8.8)."""

from __future__ import annotations

from ibi.resolver.rules.outcome import OriginalNotFound, Redirect
from ibi.resolver.rules.resolution import Resolution
from ibi.standard.language_choice import preferences
from ibi.standard.messages import ip_addresses
from ibi.standard.persistent_url import PersistentUrl
from tests.support.scripted_archives import archive, body, drive

URL = "http://urlib.net/LK47B6W/362SFKH+?ibiurl.requireditemstatus=Original&ibiurl.verblist=GetMetadata"
IBI = "rep iconet.com.br/banon/2009/09.09.22.01 ibip LK47B6W/362SFKH"
ONE, OTHER = archive("one"), archive("other")


def started() -> Resolution:
    languages = preferences("pt-br,fr;q=0.8,en;q=0.5,pt;q=0.3")
    return Resolution(PersistentUrl.parse(URL), (ONE, OTHER), ip_addresses("150.163.2.175"), languages, now=0.0)


def metadata(language: str, state: str) -> bytes:
    relation = f".translation({language}).metadata"
    values = {"contenttype": "Metadata", "state": state, "url": f"http://one.example.org/{language}"}
    return body(ONE, IBI, **{f"{name}{relation}": value for name, value in values.items()})


def test_every_archive_is_asked_at_once_without_the_languages_and_the_required_status() -> None:
    askings = started().requests()
    assert [asking.archive for asking in askings] == [ONE, OTHER]
    assert {asking.request.to_query() for asking in askings} == {
        "clientinformation.ipaddress=150.163.2.175&parsedibiurl.ibi=LK47B6W/362SFKH&"
        "parsedibiurl.verblist=GetTranslation%20GetMetadata&servicesubject=urlRequest"
    }


def test_the_resolver_itself_chooses_by_language() -> None:
    answer = metadata("en", "Original") + metadata("fr", "Original").partition(b"\r\nibi {")[2].partition(b"}")[2]
    outcome, _ = drive(started(), {ONE: lambda _: answer, OTHER: lambda _: b""})
    assert isinstance(outcome, Redirect)
    assert outcome.url == "http://one.example.org/fr"


def test_the_resolver_itself_insists_on_the_original() -> None:
    outcome, _ = drive(started(), {ONE: lambda _: metadata("fr", "Copy"), OTHER: lambda _: b""})
    assert isinstance(outcome, OriginalNotFound)
    assert outcome.copies == (ONE,)
