"""R §10.2, the Archive's side: the last edition is not looked for across items (`follow_editions` is off).

`mtc-m16c ... br` is printed for the whole host, `150.163.68.11` for `150.163.68.1` (E30).
"""

from __future__ import annotations

from dataclasses import replace

from ibi.archive.rules.answer import answer, filter_url_list
from ibi.standard.messages.identification import UrlKeys
from ibi.standard.relation import Relation
from tests.support.standards_archives import CCSDS_650, MTC_M16C, NOW

NEXT = "sid.inpe.br/mtc-m18/2012/07.12.18.08"
WANTED = Relation.from_modifier("!:(oai_dc)")
QUERY = (
    "clientinformation.ipaddress=172.16.44.200%20150.163.68.1&parsedibiurl.ibi={ibi}&"
    "parsedibiurl.verblist=GetLastEdition%20GetMetadata(oai_dc)&servicesubject=urlRequest"
)
FIRST = "\r\n".join(
    [
        "archiveaddress mtc-m16c.sid.inpe.br",
        "ibi {rep sid.inpe.br/mtc-m18@80/2009/07.21.14.43 ibip 8JMKD3MGP8W/35MMLL8}",
        "ibi.archiveservice {rep sid.inpe.br/mtc-m18@80/2008/03.17.15.17}",
        "ibi.nextedition {rep sid.inpe.br/mtc-m18/2012/07.12.18.08}",
        "ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}",
    ]
).encode()
SECOND = "\r\n".join(
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
KEYS = UrlKeys(b"s" * 32)


def ask(ibi: str, *, follow_editions: bool = False) -> bytes:
    profile = replace(MTC_M16C.profile, follow_editions=follow_editions)
    return answer(profile, MTC_M16C.catalog, QUERY.format(ibi=ibi), NOW, 1, KEYS)[0]


def test_the_first_answer_names_the_next_edition_and_has_neither_url_nor_key() -> None:
    assert ask(CCSDS_650) == FIRST


def test_the_second_answer_leads_to_the_metadata_of_the_last_edition() -> None:
    made = filter_url_list(MTC_M16C.assemble(NEXT, key="1426286454-36108967764060357"), WANTED)
    assert made is not None
    assert made.encode() == SECOND


def test_the_second_request_is_answered_so_but_for_the_key() -> None:
    assert ask(NEXT).partition(b"urlkey ")[:2] == SECOND.partition(b"urlkey ")[:2]


def test_the_key_of_the_second_answer_speaks_for_the_next_edition() -> None:
    from ibi.standard.messages import UrlKey

    known = KEYS.check(UrlKey(ask(NEXT).rpartition(b" ")[2].decode()), NOW.seconds)
    assert known is not None
    assert (str(known.label), known.relation) == ("8JMKD3MGP8W/3C9EP6P", WANTED)


def test_an_archive_that_follows_editions_saves_the_second_request() -> None:
    """Ours: SPEC §8 gives the last edition if every later one is here and the setting is on."""
    body = ask(CCSDS_650, follow_editions=True)
    assert b"\r\nibi.nextedition {rep sid.inpe.br/mtc-m18/2012/07.12.18.08}\r\n" in body
    assert b"/2012/07.12.18.08.49/doc/metadata.cgi?choice=oai_dc\r\n" in body
