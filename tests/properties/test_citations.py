"""Whatever an item is, it can be cited, and nothing in it becomes part of the citation's own syntax."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from ibi.citation.rules.abnt import abnt
from ibi.citation.rules.apa import apa
from ibi.citation.rules.exchange_formats import bibtex, csl_json, ris
from ibi.citation.rules.names import one_line
from ibi.citation.rules.page_metadata import highwire, json_ld, script_text
from ibi.citation.rules.work import Day, plain, work_of
from ibi.citation.service import STYLES, cite
from ibi.items.model.item import Item
from ibi.items.model.metadata import DescriptiveMetadata, Text
from ibi.standard.instant import Instant
from tests.properties.item_strategies import agents, items, texts, values
from tests.unit.citation.reading import read_bibtex, read_ris, unescaped

DAY = Day(2026, 11, 15)
URLS = st.sampled_from(["http://urlib.net/8JMKD3MGP8W/34PGRBS", "https://a.br/{x}\\y%20\r\nUR  - z"])

NOW = Instant(1_794_700_000)
_dates = st.sampled_from(["0001", "999-12", "1500-02-29", "2009", "2026-11", "2026-11-15", "9999-12-31", "c. 1900", ""])
_kinds = st.sampled_from(["Tese", "chapter", "article", "book", "report", "conference paper", "advisor", ""])
_contributed = st.builds(
    DescriptiveMetadata,
    title=st.lists(values, max_size=2).map(tuple),
    creator=st.lists(agents, max_size=4).map(tuple),
    contributor=st.lists(agents, max_size=12).map(tuple),
    publisher=st.lists(values, max_size=1).map(tuple),
    source=st.lists(values | st.sampled_from([Text("v. 3, n. 2, p. 1-9"), Text("cap. 4")]), max_size=2).map(tuple),
    date=_dates.map(lambda date: (Text(date),) if date else ()),
    type=st.tuples(_kinds, texts).map(lambda kinds: tuple(map(Text, filter(None, kinds)))),
)

# The variables of CSL-JSON that there are here; the schema allows no others than its own.
CSL_FIELDS = {
    *("id", "type", "title", "author", "contributor", "container-title", "publisher", "genre", "language", "abstract"),
    *("keyword", "URL", "DOI", "note", "issued", "accessed"),
}


@given(items(), URLS)
def test_a_citation_is_one_line_and_ends_with_where_and_when(item: Item, url: str) -> None:
    work = work_of(item, url)
    for text in (plain(abnt(work, DAY)), plain(apa(work))):
        assert len(text.splitlines()) == 1
        assert work.url in text
        # Upper case first: the Turkish dotless i is an ordinary I there, as in the first word of an entry.
        assert work.title.split(" ")[-1].upper().casefold() in text.upper().casefold()


@given(items(), URLS)
def test_bibtex_has_the_fields_that_it_should_and_no_others(item: Item, url: str) -> None:
    work = work_of(item, url)
    kind, key, fields = read_bibtex(bibtex(work))
    assert kind in {
        "article",
        "book",
        "incollection",
        "inproceedings",
        "mastersthesis",
        "misc",
        "phdthesis",
        "techreport",
    }
    assert key.endswith(re.sub("[^A-Za-z0-9]+", "-", work.label))
    assert unescaped(fields["title"][1:-1]) == work.title
    assert fields["year"] == f"{work.dated.year:04}"
    assert ("author" in fields) == bool(work.authors)


@given(items(), URLS)
def test_ris_has_a_line_for_each_value(item: Item, url: str) -> None:
    work = work_of(item, url)
    pairs = read_ris(ris(work, DAY))
    tags = [tag for tag, _ in pairs]
    assert tags.count("AU") == len(work.authors)
    assert tags.count("KW") == len(work.keywords)
    assert tags.count("TI") == 1
    assert next(value for tag, value in pairs if tag == "UR") == work.url  # others lead to its ARK and handle
    assert dict(pairs)["TI"] == work.title == one_line(work.title)


@given(items(), URLS)
def test_values_for_machines_are_json_of_known_fields(item: Item, url: str) -> None:
    work = work_of(item, url)
    assert csl_json(work, DAY).keys() <= CSL_FIELDS
    assert json.loads(json.dumps(csl_json(work, DAY))) == csl_json(work, DAY)
    described = json_ld(work, item.metadata.licence)
    assert json.loads(script_text(described)) == described
    assert all(name.startswith("citation_") and content for name, content in highwire(work))


@given(items(described=_contributed), URLS, st.sampled_from([*STYLES]), st.sampled_from(["en", "pt-BR", "es"]))
def test_every_style_writes_every_work_on_one_line_with_its_link(
    item: Item, url: str, style: str, language: str
) -> None:
    work = work_of(item, url)
    made = cite(work, style, language, NOW)
    assert made.style == STYLES[style]  # and not the one of ours that stands in for what fails
    assert len(plain(made.runs).splitlines()) == 1
    assert work.url in plain(made.runs)
