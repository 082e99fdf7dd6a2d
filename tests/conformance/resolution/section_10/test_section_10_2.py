"""R §10.2: a resolution with a modifier, over two editions.

`150.163.68.11` is printed for `150.163.68.1` in the first request, and `mtc-m16c ... br` for the whole host (E30).
"""

from __future__ import annotations

from ibi.standard.label import parse
from ibi.standard.messages import (
    Acknowledgment,
    LabelForms,
    UrlList,
    UrlRequest,
    ip_addresses,
    parse_request,
    parse_url_list,
)
from ibi.standard.pairs import Pairs
from ibi.standard.relation import Relation

FIRST_REQUEST = (
    "clientinformation.ipaddress=172.16.44.200%20150.163.68.1&"
    "parsedibiurl.ibi=8JMKD3MGP8W/35MMLL8&"
    "parsedibiurl.verblist=GetLastEdition%20GetMetadata(oai_dc)&"
    "servicesubject=urlRequest"
)
FIRST_ANSWER = "\r\n".join(
    [
        "archiveaddress mtc-m16c.sid.inpe.br",
        "ibi {rep sid.inpe.br/mtc-m18@80/2009/07.21.14.43 ibip 8JMKD3MGP8W/35MMLL8}",
        "ibi.archiveservice {rep sid.inpe.br/mtc-m18@80/2008/03.17.15.17}",
        "ibi.nextedition {rep sid.inpe.br/mtc-m18/2012/07.12.18.08}",
        "ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}",
    ]
).encode()
SECOND_REQUEST = FIRST_REQUEST.replace("8JMKD3MGP8W/35MMLL8", "sid.inpe.br/mtc-m18/2012/07.12.18.08")
SECOND_ANSWER = "\r\n".join(
    [
        "archiveaddress mtc-m16c.sid.inpe.br",
        "contenttype.lastedition.metadata(oai_dc) Metadata",
        "ibi {rep sid.inpe.br/mtc-m18/2012/07.12.18.08 ibip 8JMKD3MGP8W/3C9EP6P}",
        "ibi.archiveservice {rep sid.inpe.br/mtc-m18@80/2008/03.17.15.17}",
        "ibi.lastedition.metadata(oai_dc) {rep sid.inpe.br/mtc-m18/2012/07.12.18.08.49}",
        "ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}",
        "state.lastedition.metadata(oai_dc) Original",
        "timestamp.lastedition.metadata(oai_dc) 2014-04-04T17:36:01Z",
        "url.lastedition.metadata(oai_dc) http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18/2012/07.12.18.08.49"
        "/doc/metadata.cgi?choice=oai_dc",
        "urlkey 1426286454-36108967764060357",
    ]
).encode()
ACKNOWLEDGMENT = (
    "clientinformation.ipaddress=172.16.44.200%20150.163.68.1&"
    "contenttype=Metadata&"
    "ibi=rep%20sid.inpe.br/mtc-m18/2012/07.12.18.08.49&"
    "servicesubject=acknowledgment&"
    "state=Original&"
    "url=http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18/2012/07.12.18.08.49/doc/metadata.cgi%3Fchoice%3Doai_dc&"
    "url.persistent=http://urlib.net:80/8JMKD3MGP8W/35MMLL8!:(oai_dc)&"
    "urlkey=1426286454-36108967764060357"
)
CLIENTS = ip_addresses("172.16.44.200 150.163.68.1")
WANTED = Relation.from_modifier("!:(oai_dc)")


def read(body: bytes) -> UrlList:
    answer = parse_url_list(Pairs.decode(body))
    assert isinstance(answer, UrlList)
    return answer


def test_the_first_request_is_written_byte_for_byte() -> None:
    request = UrlRequest(CLIENTS, parse("8JMKD3MGP8W/35MMLL8"), WANTED)
    assert request.to_query() == FIRST_REQUEST
    assert parse_request(FIRST_REQUEST) == request


def test_the_first_answer_has_a_next_edition_and_no_url() -> None:
    answer = read(FIRST_ANSWER)
    assert answer.next_edition == LabelForms.parse("rep sid.inpe.br/mtc-m18/2012/07.12.18.08")
    assert answer.url_key is None
    assert answer.entry(WANTED) is None
    assert answer.encode() == FIRST_ANSWER


def test_the_second_request_asks_for_the_next_edition_as_it_was_spelled() -> None:
    edition = read(FIRST_ANSWER).next_edition
    assert edition is not None
    assert UrlRequest(CLIENTS, edition.labels[0], WANTED).to_query() == SECOND_REQUEST


def test_the_second_answer_is_read_and_written_byte_for_byte() -> None:
    assert read(SECOND_ANSWER).encode() == SECOND_ANSWER


def test_the_acknowledgment_carries_the_pairs_of_the_wanted_relation_under_bare_names() -> None:
    answer = read(SECOND_ANSWER)
    entry = answer.entry(WANTED)
    assert entry is not None
    assert entry.url is not None
    assert entry.content_type is not None
    assert answer.url_key is not None
    acknowledgment = Acknowledgment(
        client_addresses=CLIENTS,
        content_type=entry.content_type,
        ibi=entry.ibi,
        state=entry.state,
        url=entry.url,
        persistent_url="http://urlib.net:80/8JMKD3MGP8W/35MMLL8!:(oai_dc)",
        url_key=answer.url_key,
    )
    assert acknowledgment.to_query() == ACKNOWLEDGMENT
    assert parse_request(ACKNOWLEDGMENT) == acknowledgment
