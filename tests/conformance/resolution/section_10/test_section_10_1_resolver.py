"""R §10.1, the resolver's side: a resolution without a modifier. `CCSDS\\%20650` is printed for `CCSDS%20650` (E30)."""

from __future__ import annotations

from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.rules.outcome import Redirect
from ibi.resolver.rules.resolution import Resolution
from ibi.standard.label import parse
from ibi.standard.language_choice import preferences
from ibi.standard.messages import LabelForms, ip_addresses, parse_url_list
from ibi.standard.pairs import Pairs
from ibi.standard.persistent_url import PersistentUrl

SERVICE_C, SERVICE_D = "sid.inpe.br/mtc-m18@80/2008/03.17.15.17", "sid.inpe.br/mtc-m19@80/2009/08.21.17.02"
ARCHIVES = (
    ArchiveRef(LabelForms.of(parse(SERVICE_D)), "mtc-m16d.sid.inpe.br"),
    ArchiveRef(LabelForms.of(parse(SERVICE_C)), "mtc-m16c.sid.inpe.br"),
)
REQUEST = (
    "clientinformation.ipaddress=172.16.44.200%20150.163.68.1&"
    "parsedibiurl.ibi=8JMKD3MGP8W/35MMLL8&servicesubject=urlRequest"
)
ANSWER = (
    b"archiveaddress mtc-m16c.sid.inpe.br\r\n"
    b"contenttype Data\r\n"
    b"ibi {rep sid.inpe.br/mtc-m18@80/2009/07.21.14.43 ibip 8JMKD3MGP8W/35MMLL8}\r\n"
    b"ibi.archiveservice {rep sid.inpe.br/mtc-m18@80/2008/03.17.15.17}\r\n"
    b"ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}\r\n"
    b"state Original\r\n"
    b"timestamp 2009-07-21T14:43:31Z\r\n"
    b"url http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18@80/2009/07.21.14.43/doc/CCSDS%20650.0-B-1.pdf\r\n"
    b"urlkey 1427244889-5349022633744855"
)
ACKNOWLEDGMENT = (
    "http://mtc-m16c.sid.inpe.br/sid.inpe.br/mtc-m18@80/2008/03.17.15.17?"
    "clientinformation.ipaddress=172.16.44.200%20150.163.68.1&"
    "contenttype=Data&"
    "ibi=rep%20sid.inpe.br/mtc-m18@80/2009/07.21.14.43%20ibip%208JMKD3MGP8W/35MMLL8&"
    "servicesubject=acknowledgment&"
    "state=Original&"
    "url=http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18@80/2009/07.21.14.43/doc/CCSDS%20650.0-B-1.pdf&"
    "url.persistent=http://urlib.net:80/8JMKD3MGP8W/35MMLL8&"
    "urlkey=1427244889-5349022633744855"
)
LOCATION = "http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18@80/2009/07.21.14.43/doc/CCSDS%20650.0-B-1.pdf"


def started() -> Resolution:
    return Resolution(
        PersistentUrl.parse("http://urlib.net/8JMKD3MGP8W/35MMLL8"),
        ARCHIVES,
        ip_addresses("172.16.44.200 150.163.68.1"),
        preferences("pt-BR,fr;q=0.8,en;q=0.5,pt;q=0.3"),
        now=0.0,
    )


def test_every_archive_is_asked_byte_for_byte() -> None:
    askings = started().requests()
    assert tuple(asking.archive for asking in askings) == ARCHIVES
    assert {asking.request.to_query() for asking in askings} == {REQUEST}


def test_the_answer_is_acknowledged_and_followed_byte_for_byte() -> None:
    resolution = started()
    empty, answering = resolution.requests()
    resolution.answer(empty, parse_url_list(Pairs.decode(b"")), 0.1)
    resolution.answer(answering, parse_url_list(Pairs.decode(ANSWER)), 0.1)
    outcome = resolution.outcome
    assert isinstance(outcome, Redirect)
    assert outcome.url == LOCATION
    assert outcome.acknowledgment is not None
    assert outcome.acknowledgment.to_url(outcome.archive.address, parse(SERVICE_C)) == ACKNOWLEDGMENT
