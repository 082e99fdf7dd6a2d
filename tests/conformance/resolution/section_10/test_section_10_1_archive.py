"""R §10.1, the Archive's side. `CCSDS\\%20650` is printed for `CCSDS%20650` (E30)."""

from __future__ import annotations

from ibi.archive.rules.answer import answer, filter_url_list
from ibi.standard.messages.identification import UrlKeys
from ibi.standard.relation import Relation
from tests.support.standards_archives import CCSDS_650, MTC_M16C, MTC_M16D, NOW

REQUEST = (
    "clientinformation.ipaddress=172.16.44.200%20150.163.68.1&"
    "parsedibiurl.ibi=8JMKD3MGP8W/35MMLL8&servicesubject=urlRequest"
)
BODY = "\r\n".join(
    [
        "archiveaddress mtc-m16c.sid.inpe.br",
        "contenttype Data",
        "ibi {rep sid.inpe.br/mtc-m18@80/2009/07.21.14.43 ibip 8JMKD3MGP8W/35MMLL8}",
        "ibi.archiveservice {rep sid.inpe.br/mtc-m18@80/2008/03.17.15.17}",
        "ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}",
        "state Original",
        "timestamp 2009-07-21T14:43:31Z",
        "url http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18@80/2009/07.21.14.43/doc/CCSDS%20650.0-B-1.pdf",
        "urlkey 1427244889-5349022633744855",
    ]
).encode()
KEYS = UrlKeys(b"s" * 32)


def test_the_answer_is_made_byte_for_byte_and_does_not_speak_of_the_next_edition() -> None:
    made = filter_url_list(MTC_M16C.assemble(CCSDS_650, key="1427244889-5349022633744855"), Relation.ITSELF)
    assert made is not None
    assert made.encode() == BODY


def test_the_request_is_answered_so_but_for_the_key() -> None:
    body, _ = answer(MTC_M16C.profile, MTC_M16C.catalog, REQUEST, NOW, 1, KEYS)
    assert body.partition(b"urlkey ")[:2] == BODY.partition(b"urlkey ")[:2]


def test_the_other_archives_answer_with_nothing() -> None:
    assert answer(MTC_M16D.profile, MTC_M16D.catalog, REQUEST, NOW, 1, KEYS)[0] == b""


def test_the_acknowledgment_is_answered_by_a_notice() -> None:
    query = (
        "clientinformation.ipaddress=172.16.44.200%20150.163.68.1&contenttype=Data&"
        "ibi=rep%20sid.inpe.br/mtc-m18@80/2009/07.21.14.43%20ibip%208JMKD3MGP8W/35MMLL8&"
        "servicesubject=acknowledgment&state=Original&"
        "url=http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18@80/2009/07.21.14.43/doc/CCSDS%20650.0-B-1.pdf&"
        "url.persistent=http://urlib.net:80/8JMKD3MGP8W/35MMLL8&urlkey=1427244889-5349022633744855"
    )
    body, _ = answer(MTC_M16C.profile, MTC_M16C.catalog, query, NOW, 1, KEYS)
    assert body == b"notice {acknowledgment received}"
