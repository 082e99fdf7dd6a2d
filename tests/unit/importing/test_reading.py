"""Records of other systems as descriptions: what is read of each format."""

from __future__ import annotations

import json

import pytest

from ibi.importing.rules.imported import ImportedRecord, ImportFormat, UnreadableRecord
from ibi.importing.rules.reading import read_records
from ibi.importing.rules.tex import plain_text
from ibi.items.model.metadata import Orcid

BIBTEX = r"""
A line before the entry, and a mail@example.org in it.
@string{rev = "Revista Brasileira"}
@comment{ @article{hidden, title={Not this}} }
@Article{avila:2020,
  author    = {Jo{\~a}o {\'A}vila and {World Health Organization and friends} and Knuth, Jr., Donald and others},
  title     = "On {N}aming \& things --- a \emph{test}",
  subtitle  = {With a subtitle},
  journal   = rev # { de Bibliotecas},
  volume = 3, number = {2}, pages = {1--10},
  year = 2020, month = jan, day = 5,
  doi = {https://doi.org/10.1000/a_1}, url = {https://example.org/~ana/a--b},
  isbn = {978-3-16-148410-0}, eprint = {2001.01234},
  abstract = {Um resumo.},
  keywords = {nomes, coisas; IBI},
  language = {brazilian},
  copyright = {https://creativecommons.org/licenses/by/4.0/},
  note = {No place for this},
}
"""
RIS = """TY  - THES
AU  - Silva, Ana
A2  - Banon, Gerald
TI  - Um título
T1  - The same again
PY  - 2020
DA  - 2020/01/31/spring
PB  - INPE
AB  - Um resumo
que continua
KW  - um; dois
KW  - três
DO  - doi:10.1000/182
SN  - 1234-5678
UR  - https://example.org/x
LA  - Portuguese
SP  - 1
EP  - 9
VL  - 4
M3  - Tese de Doutorado
C7  - no place
ER  -
"""
CSL = {
    "id": "x",
    "type": "article-journal",
    "title": "On <i>naming</i> &amp; things",
    "author": [
        {"family": "Ávila", "given": "João", "ORCID": "https://orcid.org/0000-0002-1825-0097"},
        {"literal": "INPE"},
    ],
    "issued": {"date-parts": [[2020, 1, 31]]},
    "container-title": "Revista",
    "DOI": "10.1000/182",
    "URL": "https://doi.org/10.1000/182",
    "keyword": "um, dois",
    "language": "pt-BR",
    "dimensions": "20 cm",
}
CROSSREF = {
    "status": "ok",
    "message-type": "work",
    "message": {
        "type": "journal-article",
        "title": ["On naming things"],
        "subtitle": ["And people"],
        "author": [
            {
                "family": "Ávila",
                "given": "João",
                "ORCID": "http://orcid.org/0000-0002-1825-0098",
                "affiliation": [{"name": "INPE", "id": [{"id": "https://ror.org/04xbn6x09", "id-type": "ROR"}]}],
            }
        ],
        "abstract": "<jats:p>Um &lt;b&gt; resumo</jats:p>",
        "container-title": ["Revista"],
        "published": {"date-parts": [[2020, 3]]},
        "license": [{"URL": "https://creativecommons.org/licenses/by/4.0/"}],
        "funder": [{"name": "FAPESP", "award": ["2019/1", "2019/2"]}],
        "relation": {"is-supplemented-by": [{"id": "10.1000/9", "id-type": "doi"}], "odd": [{"id": "x"}]},
        "DOI": "10.1000/182",
        "reference-count": 3,
    },
}
DATACITE = {
    "data": {
        "attributes": {
            "doi": "10.5281/zenodo.1",
            "titles": [{"title": "Um", "lang": "pt"}, {"title": "One", "lang": "en"}],
            "creators": [
                {
                    "name": "Silva, Ana",
                    "nameIdentifiers": [{"nameIdentifier": "0000-0002-1825-0097", "nameIdentifierScheme": "ORCID"}],
                    "affiliation": [
                        "USP",
                        {
                            "name": "INPE",
                            "affiliationIdentifier": "https://ror.org/04xbn6x09",
                            "affiliationIdentifierScheme": "ROR",
                        },
                    ],
                }
            ],
            "publisher": {"name": "Zenodo"},
            "publicationYear": 2020,
            "dates": [{"date": "2019/2020", "dateType": "Collected"}, {"date": "2020-05-04", "dateType": "Issued"}],
            "types": {"resourceTypeGeneral": "Dataset", "resourceType": "observational data"},
            "rightsList": [{"rights": "Some words", "rightsIdentifier": "cc-by-4.0"}],
            "relatedIdentifiers": [
                {
                    "relationType": "IsSupplementTo",
                    "relatedIdentifier": "10.1000/x",
                    "relatedIdentifierType": "DOI",
                },
            ],
            "fundingReferences": [{"funderName": "FAPESP", "awardNumber": "2019/1", "awardUri": "https://bv.br/1"}],
            "geoLocations": [
                {
                    "geoLocationPlace": "Amazônia",
                    "geoLocationBox": {
                        "westBoundLongitude": -60.5,
                        "eastBoundLongitude": "-50",
                        "southBoundLatitude": -10,
                        "northBoundLatitude": 2,
                    },
                },
                {"geoLocationPoint": {"pointLongitude": -45.86, "pointLatitude": -23.21}},
            ],
            "viewCount": 3,
            "odd": True,
        }
    }
}


def read_one(text: str) -> ImportedRecord:
    (found,) = read_records(text)
    return found


def values(record: ImportedRecord, element: str) -> list[str]:
    return [str(each) for each in record.metadata.values(element)]


def test_bibtex_becomes_a_description() -> None:
    found = read_one(BIBTEX)
    assert found.format is ImportFormat.BIBTEX
    assert values(found, "title") == ["On Naming & things — a test: With a subtitle"]
    assert values(found, "creator") == ["João Ávila", "World Health Organization and friends", "Knuth Jr., Donald"]
    assert values(found, "date") == ["2020-01-05"]
    assert values(found, "source") == ["Revista Brasileira de Bibliotecas", "v. 3, n. 2, p. 1–10"]
    assert values(found, "identifier") == [
        "https://doi.org/10.1000/a_1",
        "ISBN 978-3-16-148410-0",
        "https://example.org/~ana/a--b",
        "arXiv:2001.01234",
    ]
    assert values(found, "subject") == ["nomes", "coisas", "IBI"]
    assert values(found, "type") == ["journal article"]
    assert (str(found.metadata.licence), str(found.metadata.resource_type)) == ("CC-BY-4.0", "Text")
    assert str(found.language) == "pt-BR"
    assert found.passed_over == ("note",)


def test_ris_becomes_a_description() -> None:
    found = read_one(RIS)
    assert values(found, "title") == ["Um título"]
    assert (values(found, "creator"), values(found, "contributor")) == (["Silva, Ana"], ["Banon, Gerald"])
    assert values(found, "date") == ["2020-01-31"]
    assert values(found, "description") == ["Um resumo que continua"]
    assert values(found, "subject") == ["um", "dois", "três"]
    assert values(found, "identifier") == ["https://doi.org/10.1000/182", "ISSN 1234-5678", "https://example.org/x"]
    assert values(found, "type") == ["doctoral thesis"]
    assert values(found, "source") == ["v. 4, p. 1–9"]
    assert (str(found.language), found.passed_over) == ("pt", ("C7",))


def test_csl_json_becomes_a_description() -> None:
    found = read_one(json.dumps([CSL]))
    assert found.format is ImportFormat.CSL
    assert values(found, "title") == ["On naming & things"]
    assert [(str(each), each.orcid) for each in found.metadata.creator] == [
        ("Ávila, João", Orcid("0000-0002-1825-0097")),
        ("INPE", None),
    ]
    assert (values(found, "date"), values(found, "subject")) == (["2020-01-31"], ["um", "dois"])
    assert values(found, "identifier") == ["https://doi.org/10.1000/182"]
    assert found.passed_over == ("dimensions",)


def test_the_record_that_crossref_gives_for_a_doi_becomes_a_description() -> None:
    found = read_one(json.dumps(CROSSREF))
    assert found.format is ImportFormat.CROSSREF
    assert values(found, "title") == ["On naming things: And people"]
    (author,) = found.metadata.creator
    assert (author.orcid, [str(each.ror) for each in author.affiliations]) == (None, ["04xbn6x09"])
    assert values(found, "description") == ["Um <b> resumo"]
    assert [str(each) for each in found.metadata.funding] == ["FAPESP, 2019/1", "FAPESP, 2019/2"]
    assert [str(each) for each in found.metadata.related_identifiers] == ["doi:10.1000/9"]
    assert str(found.metadata.licence) == "CC-BY-4.0"
    assert found.passed_over == ("author ORCID", "relation odd"), "a check digit was wrong, a relation is none"


def test_the_record_that_datacite_gives_for_a_doi_becomes_a_description() -> None:
    found = read_one(json.dumps(DATACITE))
    assert found.format is ImportFormat.DATACITE
    assert [(text.value, str(text.language)) for text in found.metadata.title] == [("Um", "pt"), ("One", "en")]
    assert [str(each) for each in found.metadata.creator[0].affiliations] == ["USP", "INPE"]
    assert (values(found, "date"), values(found, "publisher")) == (["2020-05-04"], ["Zenodo"])
    assert (values(found, "type"), str(found.metadata.resource_type)) == (["observational data"], "Dataset")
    assert [each.box for each in found.metadata.places] == [
        ("-60.5", "-10", "-50", "2"),
        ("-45.86", "-23.21", "-45.86", "-23.21"),
    ]
    assert found.metadata.funding[0].url == "https://bv.br/1"
    assert found.passed_over == ("odd",)


@pytest.mark.parametrize(
    ("tex", "plain"),
    [
        (r"{\'e}", "é"),
        (r"\'{e}", "é"),
        (r"\'\i", "í"),
        (r"\c{c}\~ao", "ção"),
        (r"S{\~a}o Jos{\'e}", "São José"),
        (r"\v S", "Š"),
        (r"{\ss}{\O}re", "ßØre"),
        (r"50\% \& \{more\}", "50% & {more}"),
        (r"a~b -- c --- ``d''", "a b – c — “d”"),
        ("\\", " "),
        (r"\'", ""),
        (r"\unknown{x}", "x"),
        ("{{{}}}", ""),
    ],
)
def test_tex_is_read_as_the_text_that_it_prints(tex: str, plain: str) -> None:
    assert plain_text(tex) == plain


def test_several_records_are_read_in_their_order() -> None:
    text = "".join(f"@book{{k{number}, title={{Book {number}}}}}\n" for number in range(3))
    assert [values(each, "title") for each in read_records(text)] == [["Book 0"], ["Book 1"], ["Book 2"]]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "it is empty"),
        ("hello", "neither BibTeX nor RIS nor JSON"),
        ("10.1000/182", "a DOI alone"),
        ("https://doi.org/10.1000/182", "a DOI alone"),
        ("mail@example.org", "no entry such as @article{…}"),
        ("\n\n@book{x, title={A", "a brace is not closed (line 3)"),
        ('@book{x, title="A', "a quotation mark is not closed"),
        ("@book{x, title=}", "a value stands in braces"),
        ("@book{x, {}}", "a field looks like title = {On naming things}"),
        ("@book{x, title {A}}", "after the name of a field comes ="),
        ("@book{x}", "neither a title nor authors"),
        ("TY  - JOUR\nER  - ", "neither a title nor authors"),
        ("{", "it begins like JSON, and is none"),
        ("[]", "no record of a work"),
        ("[1, 2]", "no record of a work"),
        ('{"a": 1, "a": 2}', "it begins like JSON, and is none"),
        ("{}", "neither a title nor authors"),
    ],
)
def test_what_is_no_record_is_refused_with_a_reason(text: str, told: str) -> None:
    with pytest.raises(UnreadableRecord) as refusal:
        read_records(text)
    assert told in str(refusal.value)
