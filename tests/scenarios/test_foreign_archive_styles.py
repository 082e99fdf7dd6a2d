"""Links through an Archive of another make, in every style in which R, or use, lets it answer: the right redirect each.

The Archive is a process that was written from R's text alone (`tests/foreign/archive.py`). Each style has a work of its
own, so that nothing is known of it before its link is followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.foreign.archive import ibip_of
from tests.support.foreign_world import FILE, ForeignWorld, foreign_world, related_items

PREFIX = "sid.inpe.br/mtc-m18@80"
NEIGHBOUR = "dpi.inpe.br/banon/1999/01.09.22.14"
"""An Archive that has none of the items."""
STYLES: dict[str, dict[str, Any]] = {
    "filtered": {},
    "unfiltered": {"filtered": False},
    "single relations": {"relations": "single"},
    "single relations unfiltered": {"relations": "single", "filtered": False},
    "text html": {"content_type": "text/html; charset=ISO-8859-1"},
    "charset": {"content_type": "Text/Plain;charset=us-ascii"},
    "lines by LF": {"separator": "\n", "ends": "\n"},
    "one line": {"separator": " "},
    "blanks and empty lines": {"separator": "\r\n\r\n", "after_name": "   ", "begins": "\r\n", "ends": " \r\n"},
    "tabs": {"after_name": "\t"},
    "equal pairs twice": {"repeats": "equal"},
    "different pairs twice": {"repeats": "different"},
    "8-bit octets": {"octets": True},
    "braces around words": {"braces": True},
    "chunked": {"http": "chunked", "filtered": False},
    "HTTP 1.0 without a length": {"http": "1.0"},
    "closed without a length": {"http": "close"},
    "lower-case fields": {"http": "lower"},
    "an interim answer": {"http": "interim"},
    "slow": {"delay": 0.03},
    "service without its port": {"service": f"{PREFIX.removesuffix('@80')}/2008/03.17.15.17"},
    "repository names alone": {"forms": "rep"},
    "IBIps alone": {"forms": "ibip"},
    "upper case": {"upper": True},
    "reverse order": {"reverse": True, "filtered": False},
    "unknown pairs": {"extra": True},
    "empty values": {"empty": True},
    "very long values": {"long": True},
    "by the reader's address": {"for_network": "127.0.0.1"},
}
LINKS = {
    "": "1en",
    ":": "1en:en",
    ":(oai_dc)": "1en:en?",
    ":+": "1en:pt",
    "!": "2en",
    "!+": "2pt",
    "!:": "2en:en",
    "!+:": "2pt:en",
    "!:+": "2en:pt",
    "!+:+": "2pt:pt",
    "+": "1pt",
    "+!": "2pt",
    "+(pt)!": "2pt",
    "+:": "1pt:en",
    "+!:": "2pt:en",
    "+:+(pt)": "1pt:pt",
    "+!:+": "2pt:pt",
    "+(en)": "1en",
    "?ibiurl.verblist=GetLastEdition+GetMetadata(oai_dc)": "2en:en?",
    "+?ibiurl.requireditemstatus=Original&ibiurl.verblist=GetMetadata": "1pt:en",
    f"/{FILE}": "1en",
    "/reference.bib?a=b&c=%20": "1en/reference.bib?a=b&c=%20",
    "?ibiurl.verblist=GetFileList": "1en list",
    "?q=1&ibiurl.requireditemstatus=Original": "1en?q=1",
}
"""The composition of R Table 8.2, or another link, and where it leads a reader who prefers Portuguese."""


@pytest.fixture(scope="module")
def styled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ForeignWorld, str, dict[str, dict[str, Any]]]]:
    """The world, the address of the foreign Archive, and its items by style and name."""
    with ExitStack() as stack:
        world = stack.enter_context(foreign_world(tmp_path_factory.mktemp("styles")))
        world.archive(NEIGHBOUR)
        archive = world.archive(f"{PREFIX}/2008/03.17.15.17")
        items = {
            style: related_items(f"{PREFIX}/{1996 + number // 12}/{number % 12 + 1:02}.02.03", switches)
            for number, (style, switches) in enumerate(STYLES.items())
        }
        archive("items", items=[item for work in items.values() for item in work.values()])
        yield world, archive.address, items


def place(address: str, work: dict[str, Any], wanted: str) -> str:
    """The URL of what is wanted, as the foreign Archive writes it."""
    if wanted.endswith(" list"):
        return f"http://{address}/displaydoccontent.cgi/{work['1en']['rep']}?displaytype=FileList"
    found = re.fullmatch(r"([12](?:en|pt)(?::(?:en|pt))?)(/[^?]*)?(\?.*)?", wanted)
    assert found
    item = work[found[1]]
    pairs = "?choice=oai_dc" if found[3] == "?" else found[3] or ""
    return f"http://{address}/col/{item['rep']}/doc{found[2] or '/' + item['files'][0]}{pairs}"


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("style", STYLES)
def test_the_link_leads_where_the_foreign_archive_says(
    styled: tuple[ForeignWorld, str, dict[str, dict[str, Any]]], style: str, link: str
) -> None:
    world, address, items = styled
    rep = str(items[style]["1en"]["rep"])
    label = ibip_of(rep) if list(LINKS).index(link) % 2 else rep
    got = world.follow(f"/{label}{link}", Accept_Language="pt-BR, pt;q=0.8")
    assert got.status == 302, (label, got.body[:600])
    expected = place(address, items[style], LINKS[link])
    assert got.location.replace("%F3", "%f3") == expected
