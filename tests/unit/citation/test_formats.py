from __future__ import annotations

import pytest

from ibi.citation.rules.exchange_formats import bibtex, csl_json, ris
from ibi.citation.rules.page_metadata import highwire, json_ld, script_text
from ibi.citation.rules.work import PlaceInSource, read_place
from ibi.importing.rules.bibtex import read_bibtex as import_bibtex
from ibi.items.model.item_types import WorkKind
from ibi.items.model.metadata import Licence, ResourceType
from tests.unit.citation.reading import read_bibtex, read_ris, unescaped
from tests.unit.citation.works import ACCESSED, BANON, URL, cited

FULL = cited(
    "Uma tese",
    creator=(*BANON, "Instituto Nacional"),
    contributor="Ana Ávila",
    type="Tese",
    date="2009-02-16",
    publisher="INPE",
    subject=("um", "dois"),
    description="Um resumo.",
)


def test_bibtex() -> None:
    assert bibtex(FULL) == (
        "@phdthesis{Banon2009-8JMKD3MGP8W-34PGRBS,\n"
        "  author = {Banon, Gerald Jean Francis and {Instituto Nacional}},\n"
        "  title = {{Uma tese}},\n"
        "  year = {2009},\n"
        "  month = feb,\n"
        "  school = {INPE},\n"
        "  type = {Tese},\n"
        "  language = {pt},\n"
        "  abstract = {Um resumo.},\n"
        "  keywords = {um, dois},\n"
        f"  url = {{{URL}}},\n"
        "  note = {IBI: 8JMKD3MGP8W/34PGRBS},\n"
        "}\n"
    )


ARTICLE = "@article{a, title={T}, journal={Revista}, year=2020, volume=3, number=2, pages={1--9}}"


def test_volume_issue_and_pages_leave_as_they_came() -> None:
    (record,) = import_bibtex(ARTICLE)
    work = cited(type="Artigo", source=tuple(map(str, record.metadata.source)))
    _, _, fields = read_bibtex(bibtex(work))
    assert [fields[name] for name in ("journal", "volume", "number", "pages")] == ["Revista", "3", "2", "1--9"]
    lines = ris(work).split("\r\n")
    assert {"T2  - Revista", "VL  - 3", "IS  - 2", "SP  - 1", "EP  - 9"} <= set(lines)
    csl = csl_json(work)
    assert [csl[name] for name in ("container-title", "volume", "issue", "page")] == ["Revista", "3", "2", "1–9"]
    assert {("citation_volume", "3"), ("citation_firstpage", "1"), ("citation_lastpage", "9")} <= set(highwire(work))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("v. 3, p. 1–9, 12", PlaceInSource(volume="3", pages="1–9, 12")),
        ("n. 4", PlaceInSource(issue="4")),
        ("p. e123, cap. 2", PlaceInSource(pages="e123", chapter="2")),
        ("Revista, v. 3", None),
        ("v.", None),
        ("v. Chr.", PlaceInSource(volume="Chr.")),
        ("", None),
    ],
)
def test_a_place_in_a_source_is_read_as_imports_write_it(text: str, place: PlaceInSource | None) -> None:
    assert read_place(text) == place


@pytest.mark.parametrize(
    ("kind", "source", "entry", "field"),
    [
        ("Artigo", "Revista", "article", "journal"),
        ("Artigo", None, "misc", None),
        ("Livro", None, "book", None),
        ("Book chapter", "A book", "incollection", "booktitle"),
        ("Conference paper", "Proc.", "inproceedings", "booktitle"),
        ("Relatório", None, "techreport", None),
        ("Tese", None, "phdthesis", None),
        ("Dissertação de mestrado", None, "mastersthesis", None),
        ("Something", "Where", "misc", None),
    ],
)
def test_the_entry_follows_the_type(kind: str, source: str | None, entry: str, field: str | None) -> None:
    found, _, fields = read_bibtex(bibtex(cited(type=kind, publisher="P", source=(source,) if source else ())))
    assert found == entry
    assert field is None or fields[field] == source


@pytest.mark.parametrize(
    "title",
    [
        r"50% of {C}_n & $x$ #1 ~ ^ \alpha",
        "}",
        "{",
        "\\",
        "{}}{",
        "a\n},\n@misc{x,",
        '"quoted" @',
        "שלום",
        "😀",
        r"\textbraceleft{}",
    ],
)
def test_a_title_survives_bibtex(title: str) -> None:
    _, _, fields = read_bibtex(bibtex(cited(title)))
    assert unescaped(fields["title"][1:-1]) == " ".join(title.split())


def test_names_are_not_taken_apart_by_what_stands_in_them() -> None:
    work = cited(creator=("Land and Sea Institute", "Rock, Ann and Bob", "Ávila, Ana"))
    _, key, fields = read_bibtex(bibtex(work))
    assert fields["author"] == "{Land and Sea Institute} and Rock, {Ann and Bob} and Ávila, Ana"
    assert key == "LandandSeaInstitute2009-8JMKD3MGP8W-34PGRBS"


def test_ris() -> None:
    assert read_ris(ris(FULL, ACCESSED)) == [
        ("TY", "THES"),
        ("ID", "8JMKD3MGP8W/34PGRBS"),
        ("TI", "Uma tese"),
        ("AU", "Banon, Gerald Jean Francis"),
        ("AU", "Instituto Nacional"),
        ("A2", "Ávila, Ana"),
        ("PY", "2009"),
        ("DA", "2009/02/16/"),
        ("PB", "INPE"),
        ("M3", "Tese"),
        ("LA", "pt"),
        ("KW", "um"),
        ("KW", "dois"),
        ("AB", "Um resumo."),
        ("UR", URL),
        ("Y2", "2026/11/15/"),
        ("ER", ""),
    ]
    assert ("DA", "2009/02//") in read_ris(ris(cited(date="2009-02")))


def test_csl_json() -> None:
    assert csl_json(FULL, ACCESSED) == {
        "id": "8JMKD3MGP8W/34PGRBS",
        "type": "thesis",
        "title": "Uma tese",
        "author": [{"family": "Banon", "given": "Gerald Jean Francis"}, {"literal": "Instituto Nacional"}],
        "contributor": [{"family": "Ávila", "given": "Ana"}],
        "publisher": "INPE",
        "genre": "Tese",
        "language": "pt",
        "abstract": "Um resumo.",
        "keyword": "um, dois",
        "URL": URL,
        "issued": {"date-parts": [[2009, 2, 16]]},
        "accessed": {"date-parts": [[2026, 11, 15]]},
    }


# The enumeration of `type` in the data schema of CSL 1.0.2.
CSL_TYPES = """
    article article-journal article-magazine article-newspaper bill book broadcast chapter classic collection
    dataset document entry entry-dictionary entry-encyclopedia event figure graphic hearing interview
    legal_case legislation manuscript map motion_picture musical_score pamphlet paper-conference patent
    performance periodical personal_communication post post-weblog regulation report review review-book
    software song speech standard thesis treaty webpage
""".split()


def test_every_kind_is_known_everywhere() -> None:
    assert {str(kind) for kind in WorkKind} <= set(CSL_TYPES)
    for resource_type in ResourceType:
        work = cited("X", resource_type)
        assert read_ris(ris(work))
        assert json_ld(work)["@type"]


def test_highwire() -> None:
    assert highwire(FULL, pdf_url="https://a.br/x.pdf") == (
        ("citation_title", "Uma tese"),
        ("citation_author", "Banon, Gerald Jean Francis"),
        ("citation_author", "Instituto Nacional"),
        ("citation_publication_date", "2009/02/16"),
        ("citation_dissertation_institution", "INPE"),
        ("citation_language", "pt"),
        ("citation_keywords", "um"),
        ("citation_keywords", "dois"),
        ("citation_public_url", URL),
        ("citation_pdf_url", "https://a.br/x.pdf"),
    )


def test_json_ld_stands_safely_in_a_page() -> None:
    described = json_ld(cited("</script><script>alert(1)", creator=BANON, date="2009"), Licence("CC-BY-4.0"))
    assert described["@type"] == "CreativeWork"
    assert described["author"] == [
        {
            "@type": "Person",
            "name": "Gerald Jean Francis Banon",
            "familyName": "Banon",
            "givenName": "Gerald Jean Francis",
        }
    ]
    assert described["license"] == "https://spdx.org/licenses/CC-BY-4.0"
    assert not set("<>&") & set(script_text(described))
