"""R §10 through the whole resolver: what it is asked, sends, gets and answers travels over sockets.

Misprints (E30): `CCSDS\\%20650` for `CCSDS%20650` in the answer of 10.1; `150.163.68.11` for `150.163.68.1` in the
first request of 10.2, and `mtc-m16c ... br` for the whole host in its second answer.
"""

from __future__ import annotations

from tests.support.printed_archives import PrintedNetwork, printed_network

PROXY = "150.163.68.1"
LANGUAGES = "pt-BR,fr;q=0.8,en;q=0.5,pt;q=0.3"

# --- 10.1 ---
REQUEST = (
    "clientinformation.ipaddress=172.16.44.200%20150.163.68.1&"
    "parsedibiurl.ibi=8JMKD3MGP8W/35MMLL8&"
    "servicesubject=urlRequest"
)
ANSWER = b"\r\n".join(
    [
        b"archiveaddress mtc-m16c.sid.inpe.br",
        b"contenttype Data",
        b"ibi {rep sid.inpe.br/mtc-m18@80/2009/07.21.14.43 ibip 8JMKD3MGP8W/35MMLL8}",
        b"ibi.archiveservice {rep sid.inpe.br/mtc-m18@80/2008/03.17.15.17}",
        b"ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}",
        b"state Original",
        b"timestamp 2009-07-21T14:43:31Z",
        b"url http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18@80/2009/07.21.14.43/doc/CCSDS%20650.0-B-1.pdf",
        b"urlkey 1427244889-5349022633744855",
    ]
)
ACKNOWLEDGMENT = (
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

# --- 10.2 ---
FIRST_REQUEST = (
    "clientinformation.ipaddress=172.16.44.200%20150.163.68.1&"
    "parsedibiurl.ibi=8JMKD3MGP8W/35MMLL8&"
    "parsedibiurl.verblist=GetLastEdition%20GetMetadata(oai_dc)&"
    "servicesubject=urlRequest"
)
FIRST_ANSWER = b"\r\n".join(
    [
        b"archiveaddress mtc-m16c.sid.inpe.br",
        b"ibi {rep sid.inpe.br/mtc-m18@80/2009/07.21.14.43 ibip 8JMKD3MGP8W/35MMLL8}",
        b"ibi.archiveservice {rep sid.inpe.br/mtc-m18@80/2008/03.17.15.17}",
        b"ibi.nextedition {rep sid.inpe.br/mtc-m18/2012/07.12.18.08}",
        b"ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}",
    ]
)
SECOND_REQUEST = (
    "clientinformation.ipaddress=172.16.44.200%20150.163.68.1&"
    "parsedibiurl.ibi=sid.inpe.br/mtc-m18/2012/07.12.18.08&"
    "parsedibiurl.verblist=GetLastEdition%20GetMetadata(oai_dc)&"
    "servicesubject=urlRequest"
)
SECOND_ANSWER = b"\r\n".join(
    [
        b"archiveaddress mtc-m16c.sid.inpe.br",
        b"contenttype.lastedition.metadata(oai_dc) Metadata",
        b"ibi {rep sid.inpe.br/mtc-m18/2012/07.12.18.08 ibip 8JMKD3MGP8W/3C9EP6P}",
        b"ibi.archiveservice {rep sid.inpe.br/mtc-m18@80/2008/03.17.15.17}",
        b"ibi.lastedition.metadata(oai_dc) {rep sid.inpe.br/mtc-m18/2012/07.12.18.08.49}",
        b"ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}",
        b"state.lastedition.metadata(oai_dc) Original",
        b"timestamp.lastedition.metadata(oai_dc) 2014-04-04T17:36:01Z",
        b"url.lastedition.metadata(oai_dc) http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18/2012/07.12.18.08.49"
        b"/doc/metadata.cgi?choice=oai_dc",
        b"urlkey 1426286454-36108967764060357",
    ]
)
ACKNOWLEDGMENT_OF_METADATA = (
    "clientinformation.ipaddress=172.16.44.200%20150.163.68.1&"
    "contenttype=Metadata&"
    "ibi=rep%20sid.inpe.br/mtc-m18/2012/07.12.18.08.49&"
    "servicesubject=acknowledgment&"
    "state=Original&"
    "url=http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18/2012/07.12.18.08.49/doc/metadata.cgi%3Fchoice%3Doai_dc&"
    "url.persistent=http://urlib.net:80/8JMKD3MGP8W/35MMLL8!:(oai_dc)&"
    "urlkey=1426286454-36108967764060357"
)
METADATA = "http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18/2012/07.12.18.08.49/doc/metadata.cgi?choice=oai_dc"


def location(network: PrintedNetwork, link: str) -> str:
    """Where the reader of the examples is sent: one behind a proxy."""
    return network.resolver.location(link, reader=PROXY, X_Forwarded_For="172.16.44.200", Accept_Language=LANGUAGES)


def test_section_10_1_byte_for_byte() -> None:
    with printed_network({REQUEST: ANSWER}, {}) as network:
        assert location(network, "/8JMKD3MGP8W/35MMLL8") == LOCATION
        network.check_asked(of_c=[REQUEST, ACKNOWLEDGMENT], of_d=[REQUEST])


def test_section_10_2_byte_for_byte() -> None:
    answers = {FIRST_REQUEST: FIRST_ANSWER, SECOND_REQUEST: SECOND_ANSWER}
    with printed_network(answers, {}) as network:
        assert location(network, "/8JMKD3MGP8W/35MMLL8!:(oai_dc)") == METADATA
        # The next edition is of the first Archive's prefix, `@80` or not (E65): that one is its home, and is enough.
        asked = [FIRST_REQUEST, SECOND_REQUEST, ACKNOWLEDGMENT_OF_METADATA]
        network.check_asked(of_c=asked, of_d=[FIRST_REQUEST])
