"""R §10.2, the resolver's side: a resolution with a modifier, over two editions.

`150.163.68.11` is printed for `150.163.68.1` in the first request, and `mtc-m16c ... br` for the whole host (E30).
"""

from __future__ import annotations

from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.rules.answers import Reason
from ibi.resolver.rules.outcome import Redirect
from ibi.resolver.rules.resolution import Resolution
from ibi.resolver.rules.trace import Verdict
from ibi.standard.label import parse
from ibi.standard.language_choice import preferences
from ibi.standard.messages import LabelForms, ip_addresses, parse_url_list
from ibi.standard.pairs import Pairs
from ibi.standard.persistent_url import PersistentUrl

SERVICE_C, SERVICE_D = "sid.inpe.br/mtc-m18@80/2008/03.17.15.17", "sid.inpe.br/mtc-m19@80/2009/08.21.17.02"
ARCHIVES = (
    ArchiveRef(LabelForms.of(parse(SERVICE_C)), "mtc-m16c.sid.inpe.br"),
    ArchiveRef(LabelForms.of(parse(SERVICE_D)), "mtc-m16d.sid.inpe.br"),
)
FIRST_REQUEST = (
    "clientinformation.ipaddress=172.16.44.200%20150.163.68.1&"
    "parsedibiurl.ibi=8JMKD3MGP8W/35MMLL8&"
    "parsedibiurl.verblist=GetLastEdition%20GetMetadata(oai_dc)&servicesubject=urlRequest"
)
FIRST_ANSWER = (
    b"archiveaddress mtc-m16c.sid.inpe.br\r\n"
    b"ibi {rep sid.inpe.br/mtc-m18@80/2009/07.21.14.43 ibip 8JMKD3MGP8W/35MMLL8}\r\n"
    b"ibi.archiveservice {rep sid.inpe.br/mtc-m18@80/2008/03.17.15.17}\r\n"
    b"ibi.nextedition {rep sid.inpe.br/mtc-m18/2012/07.12.18.08}\r\n"
    b"ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}"
)
SECOND_REQUEST = (
    "clientinformation.ipaddress=172.16.44.200%20150.163.68.1&"
    "parsedibiurl.ibi=sid.inpe.br/mtc-m18/2012/07.12.18.08&"
    "parsedibiurl.verblist=GetLastEdition%20GetMetadata(oai_dc)&servicesubject=urlRequest"
)
SECOND_ANSWER = (
    b"archiveaddress mtc-m16c.sid.inpe.br\r\n"
    b"contenttype.lastedition.metadata(oai_dc) Metadata\r\n"
    b"ibi {rep sid.inpe.br/mtc-m18/2012/07.12.18.08 ibip 8JMKD3MGP8W/3C9EP6P}\r\n"
    b"ibi.archiveservice {rep sid.inpe.br/mtc-m18@80/2008/03.17.15.17}\r\n"
    b"ibi.lastedition.metadata(oai_dc) {rep sid.inpe.br/mtc-m18/2012/07.12.18.08.49}\r\n"
    b"ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}\r\n"
    b"state.lastedition.metadata(oai_dc) Original\r\n"
    b"timestamp.lastedition.metadata(oai_dc) 2014-04-04T17:36:01Z\r\n"
    b"url.lastedition.metadata(oai_dc) http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18/2012/07.12.18.08.49"
    b"/doc/metadata.cgi?choice=oai_dc\r\n"
    b"urlkey 1426286454-36108967764060357"
)
ACKNOWLEDGMENT = (
    "http://mtc-m16c.sid.inpe.br/sid.inpe.br/mtc-m18@80/2008/03.17.15.17?"
    "clientinformation.ipaddress=172.16.44.200%20150.163.68.1&"
    "contenttype=Metadata&"
    "ibi=rep%20sid.inpe.br/mtc-m18/2012/07.12.18.08.49&"
    "servicesubject=acknowledgment&"
    "state=Original&"
    "url=http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18/2012/07.12.18.08.49/doc/metadata.cgi%3Fchoice%3Doai_dc&"
    "url.persistent=http://urlib.net:80/8JMKD3MGP8W/35MMLL8!:(oai_dc)&"
    "urlkey=1426286454-36108967764060357"
)
LOCATION = "http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18/2012/07.12.18.08.49/doc/metadata.cgi?choice=oai_dc"


def answered(resolution: Resolution, request: str, body: bytes) -> None:
    """All are asked for the same; the first Archive answers, the other has nothing."""
    askings = resolution.requests()
    assert tuple(asking.archive for asking in askings) == ARCHIVES
    assert {asking.request.to_query() for asking in askings} == {request}
    for asking, text in zip(askings, (body, b""), strict=True):
        resolution.answer(asking, parse_url_list(Pairs.decode(text)), 0.1)


def resolved() -> Resolution:
    resolution = Resolution(
        PersistentUrl.parse("http://urlib.net/8JMKD3MGP8W/35MMLL8!:(oai_dc)"),
        ARCHIVES,
        ip_addresses("172.16.44.200 150.163.68.1"),
        preferences("pt-BR,fr;q=0.8,en;q=0.5,pt;q=0.3"),
        now=0.0,
    )
    answered(resolution, FIRST_REQUEST, FIRST_ANSWER)
    answered(resolution, SECOND_REQUEST, SECOND_ANSWER)
    return resolution


def test_both_rounds_ask_byte_for_byte_and_the_second_answer_is_followed() -> None:
    outcome = resolved().outcome
    assert isinstance(outcome, Redirect)
    assert outcome.url == LOCATION


def test_the_acknowledgment_is_written_byte_for_byte() -> None:
    outcome = resolved().outcome
    assert isinstance(outcome, Redirect)
    assert outcome.acknowledgment is not None
    assert outcome.acknowledgment.to_url(outcome.archive.address, parse(SERVICE_C)) == ACKNOWLEDGMENT


def test_the_trace_tells_the_two_rounds() -> None:
    first, second = resolved().trace.hops
    assert (first.reason, second.reason) == (Reason.GIVEN, Reason.NEXT_EDITION)
    assert [report.verdict for report in first.reports] == [Verdict.FOLLOWED, Verdict.EMPTY]
    assert [report.verdict for report in second.reports] == [Verdict.CHOSEN, Verdict.EMPTY]
