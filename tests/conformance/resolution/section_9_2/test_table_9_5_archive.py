"""R Table 9.5 on live items: every relation that the table derives is answered for.

The items are ours. A report in Portuguese with an English translation and a second edition, which has been translated
too; its metadata is written on demand, that of the last edition has an IBI and is there in two languages.
"""

from __future__ import annotations

import pytest

from ibi.archive.rules.profile import ALL_RELATIONS, ArchiveProfile, ArchiveUrls, every_relation
from ibi.standard.languages import LanguageTag
from ibi.standard.messages import UrlList
from ibi.standard.relation import Relation
from tests.support.archive_catalog import PlainCatalog
from tests.support.standards_archives import StandardsArchive, forms, item

P = "lab.br/arq/2020"
FIRST, FIRST_EN, LAST, LAST_EN, ABOUT, ABOUT_EN, MUTE = (f"{P}/01.02.03.{minute:02}" for minute in range(7))
AT = "2020-01-02T03:04:05Z"
PT, EN = LanguageTag("pt", "BR"), LanguageTag("en")

CATALOG = PlainCatalog(
    item(
        FIRST,
        at=AT,
        files=("um.pdf",),
        language=PT,
        translations=((EN, forms(FIRST_EN)),),
        next_edition=forms(LAST),
    ),
    item(FIRST_EN, at=AT, files=("one.pdf",), language=EN, translation_of=forms(FIRST)),
    item(
        LAST,
        at=AT,
        files=("dois.pdf",),
        language=PT,
        edition_of=forms(FIRST),
        translations=((EN, forms(LAST_EN)),),
        metadata_item=forms(ABOUT),
    ),
    item(LAST_EN, at=AT, files=("two.pdf",), language=EN, translation_of=forms(LAST)),
    item(
        ABOUT,
        at=AT,
        files=("sobre.xml",),
        language=PT,
        describes=forms(LAST),
        translations=((EN, forms(ABOUT_EN)),),
    ),
    item(ABOUT_EN, at=AT, files=("about.xml",), language=EN, describes=forms(LAST), translation_of=forms(ABOUT)),
    item(MUTE, at=AT, files=("map.tif",)),
)
ARCHIVE = StandardsArchive(
    ArchiveProfile("arq.lab.br", forms(f"{P}/01.01.00.00"), ArchiveUrls("http://arq.lab.br", "http://arq.lab.br")),
    CATALOG,
)
COL = "http://arq.lab.br/col"


def url(ibi: str, qualifier: str) -> str:
    return ARCHIVE.pair(f"url{qualifier}", ibi).partition(" ")[2].removeprefix(COL)


def test_the_table_derives_fifteen_shapes_and_we_answer_for_each_with_and_without_a_format() -> None:
    assert len(ALL_RELATIONS) == 5 * (1 + 2 * 2)
    assert len({tuple(step.kind for step in relation.steps) for relation in ALL_RELATIONS}) == 15
    assert every_relation(()) < ALL_RELATIONS < every_relation(["oai_dc", "BibINPE"])


@pytest.mark.parametrize(
    ("qualifier", "expected"),
    [
        ("", f"/{FIRST}/doc/um.pdf"),
        (".metadata", f"/{FIRST}/metadata"),
        (".metadata(oai_dc)", f"/{FIRST}/metadata?format=oai_dc"),
        (".metadata.translation", f"/{FIRST}/metadata"),
        (".metadata(oai_dc).translation", f"/{FIRST}/metadata?format=oai_dc"),
        (".lastedition", f"/{LAST}/doc/dois.pdf"),
        (".lastedition.translation(pt-BR)", f"/{LAST}/doc/dois.pdf"),
        (".lastedition.translation(en)", f"/{LAST_EN}/doc/two.pdf"),
        (".lastedition.metadata", f"/{ABOUT}/doc/sobre.xml"),
        (".lastedition.metadata(oai_dc)", f"/{LAST}/metadata?format=oai_dc"),
        (".lastedition.translation(en).metadata", f"/{LAST_EN}/metadata"),
        (".lastedition.metadata.translation(en)", f"/{ABOUT_EN}/doc/about.xml"),
        (".lastedition.translation(en).metadata.translation", f"/{LAST_EN}/metadata"),
        (".translation(pt-BR)", f"/{FIRST}/doc/um.pdf"),
        (".translation(en)", f"/{FIRST_EN}/doc/one.pdf"),
        (".translation(en).lastedition", f"/{FIRST_EN}/doc/one.pdf"),
        (".translation(pt-BR).lastedition", f"/{LAST}/doc/dois.pdf"),
        (".translation(en).metadata", f"/{FIRST_EN}/metadata"),
        (".translation(en).lastedition.metadata", f"/{FIRST_EN}/metadata"),
        (".translation(en).metadata.translation", f"/{FIRST_EN}/metadata"),
        (".translation(pt-BR).lastedition.metadata.translation(en)", f"/{ABOUT_EN}/doc/about.xml"),
    ],
)
def test_each_shape_leads_to_the_item_that_it_means(qualifier: str, expected: str) -> None:
    assert url(FIRST, qualifier) == expected


def test_every_shape_of_the_table_is_in_the_answer_for_an_item_that_has_everything() -> None:
    answer = ARCHIVE.assemble(FIRST)
    assert isinstance(answer, UrlList)
    shapes = {tuple(step.kind for step in entry.relation.steps) for entry in answer.entries}
    assert shapes == {tuple(step.kind for step in relation.steps) for relation in ALL_RELATIONS}


def test_every_member_of_a_group_answers_for_the_group() -> None:
    assert url(FIRST_EN, ".translation(pt-BR)") == f"/{FIRST}/doc/um.pdf"
    assert url(FIRST_EN, ".translation(en)") == f"/{FIRST_EN}/doc/one.pdf"


def test_an_item_without_a_language_offers_itself_as_a_translation_into_none() -> None:
    assert url(MUTE, ".translation") == f"/{MUTE}/doc/map.tif"
    assert url(MUTE, ".translation.lastedition.metadata(oai_dc)") == f"/{MUTE}/metadata?format=oai_dc"


def test_an_item_with_a_language_does_not() -> None:
    assert url(FIRST, ".translation") == ""


def test_metadata_that_is_an_item_has_an_ibi_in_each_language() -> None:
    qualifier = ".lastedition.metadata.translation(en)"
    assert ARCHIVE.pair(f"ibi{qualifier}", FIRST) == f"ibi{qualifier} {{rep {ABOUT_EN}}}"
    assert ARCHIVE.pair(f"contenttype{qualifier}", FIRST) == f"contenttype{qualifier} Metadata"


def test_a_format_that_is_not_written_here_is_not_answered_for() -> None:
    answer = ARCHIVE.assemble(FIRST)
    assert isinstance(answer, UrlList)
    assert answer.entry(Relation.from_qualifier(".metadata(BibINPE)")) is None
