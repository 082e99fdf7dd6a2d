"""R Examples 8.1 to 8.7 through the whole resolver: what Archives are asked for each link, and where it leads.

Of the first item the Archive says all it knows, R Example 9.2; of the last what R Examples 9.9, 9.11 and 9.12 print.
Examples 8.4 and 8.5 are resolved as R §10.2 tells.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.resolution.section_10.test_examples_over_http import FIRST_ANSWER, SECOND_ANSWER
from tests.support.printed_archives import printed_network

EXAMPLE_9_2 = (Path(__file__).parents[1] / "section_9_2" / "example_9_2.txt").read_bytes()
C, D = "http://mtc-m16c.sid.inpe.br", "http://mtc-m16d.sid.inpe.br"
TEXT = f"{C}/col/sid.inpe.br/mtc-m18@80/2009/07.21.13.23/doc/CCSDS%20643.0-B-1.pdf"
METADATA = f"{C}/col/sid.inpe.br/mtc-m18@80/2009/07.21.13.23.47/doc/metadata.cgi"
PORTUGUESE = f"{C}/col/sid.inpe.br/mtc-m18@80/2009/08.25.19.43/doc/RTC-07.pdf"
LAST_METADATA = f"{C}/col/sid.inpe.br/mtc-m18/2012/07.12.18.08.49/doc/metadata.cgi?choice=oai_dc"
BANON = f"{D}/col/iconet.com.br/banon/2009/09.09.22.01/doc/@relatorio.pdf"
FILE = f"{D}/col/iconet.com.br/banon/2009/09.09.22.01/doc/reference.bib"
LIST = f"{D}/displaydoccontent.cgi/LK47B6W/362SFKH?displaytype=FileList"


def asks(ibi: str, verbs: str = "", path: str = "") -> str:
    """What Archives are asked: the pairs by name (E27)."""
    pairs = [
        "clientinformation.ipaddress=150.163.2.175",
        *([f"parsedibiurl.filepath={path}"] if path else []),
        f"parsedibiurl.ibi={ibi}",
        *([f"parsedibiurl.verblist={verbs}"] if verbs else []),
        "servicesubject=urlRequest",
    ]
    return "&".join(pairs)


def banon(url: str) -> bytes:
    """What the other Archive says of its item; the forms and the key are ours."""
    lines = [
        "archiveaddress mtc-m16d.sid.inpe.br",
        "contenttype Data",
        "ibi {rep iconet.com.br/banon/2009/09.09.22.01 ibip LK47B6W/362SFKH}",
        "ibi.archiveservice {rep sid.inpe.br/mtc-m19@80/2009/08.21.17.02}",
        "ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}",
        "state Original",
        "timestamp 2009-09-10T01:02:03Z",
        f"url {url}",
    ]
    return "\r\n".join(lines).encode()


@pytest.mark.parametrize(
    ("link", "request_", "location"),
    [
        ("/8JMKD3MGP8W/35MME4E", asks("8JMKD3MGP8W/35MME4E"), TEXT),  # 8.1
        ("/8JMKD3MGP8W/35MME4E:", asks("8JMKD3MGP8W/35MME4E", "GetMetadata"), METADATA),  # 8.2
        (
            "/8JMKD3MGP8W/35MME4E:(oai_dc)",
            asks("8JMKD3MGP8W/35MME4E", "GetMetadata(oai_dc)"),
            f"{METADATA}?choice=oai_dc",
        ),
        ("/8JMKD3MGP8W/35MME4E+", asks("8JMKD3MGP8W/35MME4E", "GetTranslation"), PORTUGUESE),  # 8.3
        ("/8JMKD3MGP8W/35MME4E+(pt)", asks("8JMKD3MGP8W/35MME4E", "GetTranslation(pt)"), PORTUGUESE),
        ("/8JMKD3MGP8W/35MME4E+(en)", asks("8JMKD3MGP8W/35MME4E", "GetTranslation(en)"), TEXT),
    ],
)
def test_the_first_archive_answers_with_example_9_2(link: str, request_: str, location: str) -> None:
    with printed_network({request_: EXAMPLE_9_2}, {}) as network:
        assert network.resolver.location(link, Accept_Language="pt-BR,en;q=0.5") == location
        assert network.c.wait(3)[2].startswith(b"GET /sid.inpe.br/mtc-m18@80/2008/03.17.15.17?clientinformation")
        network.d.wait(2)
        del network.c.requests[2:]
        network.check_asked(of_c=[request_], of_d=[request_])


@pytest.mark.parametrize(
    ("link", "request_", "location"),
    [
        ("/LK47B6W/362SFKH", asks("LK47B6W/362SFKH"), BANON),  # 8.1
        ("/iconet.com.br/banon/2009/09.09.22.01", asks("iconet.com.br/banon/2009/09.09.22.01"), BANON),
        ("/LK47B6W/362SFKH?ibiurl.verblist=GetFileList", asks("LK47B6W/362SFKH", "GetFileList"), LIST),  # 8.6
        ("/LK47B6W/362SFKH/reference.bib", asks("LK47B6W/362SFKH", path="/reference.bib"), FILE),  # 8.7
    ],
)
def test_the_other_archive_answers_with_a_url(link: str, request_: str, location: str) -> None:
    """Without a key there is nothing to acknowledge."""
    with printed_network({}, {request_: banon(location)}) as network:
        assert network.resolver.location(link) == location
        network.check_asked(of_c=[request_], of_d=[request_])


@pytest.mark.parametrize(
    "link",
    [
        "/8JMKD3MGP8W/35MMLL8!:(oai_dc)",  # 8.4
        "/8JMKD3MGP8W/35MMLL8?ibiurl.verblist=GetLastEdition+GetMetadata(oai_dc)",  # 8.5
    ],
)
def test_a_list_of_verbs_asks_what_its_modifiers_ask(link: str) -> None:
    verbs = "GetLastEdition%20GetMetadata(oai_dc)"
    first, second = asks("8JMKD3MGP8W/35MMLL8", verbs), asks("sid.inpe.br/mtc-m18/2012/07.12.18.08", verbs)
    with printed_network({first: FIRST_ANSWER, second: SECOND_ANSWER}, {}) as network:
        assert network.resolver.location(link) == LAST_METADATA
        network.c.wait(4)
        del network.c.requests[3:]  # the acknowledgment is R §10.2's
        network.check_asked(of_c=[first, second], of_d=[first])  # the next edition has its home at the first (E65)
