"""What a stranger's record says of a Copy is shown by every page, feed and export, or refused when it is read: none of
them fails on it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ibi.citation.service import OWN_STYLES
from ibi.items.model.item_json import decode_item, encode_item
from ibi.items.rules import life_cycle
from ibi.reading.delivery.metadata import FORMATS
from ibi.standard.document_errors import InvalidDocument
from ibi.web.rendering import _environment
from tests.support.archive_app import REP, archive_app, kept
from tests.support.flat_items import replace

LOCAL = b'{"schema":1,"state":"Original","transferable":true}'
PAGE = f"/col/{REP}/metadata"
SHOWN = (
    PAGE,
    *(f"{PAGE}?format={name}" for name in FORMATS),
    f"/api/items/{REP}",
    f"/col/{REP}/files",
    "/",
    "/search?q=",
    "/search.atom",
    "/search.csv",
    "/search.bib",
    "/search.ris",
    "/search.ndjson",
    "/sitemap.xml",
    "/sitemap/1.xml",
    "/api/items",
    "/oai?verb=ListRecords&metadataPrefix=oai_dc",
)

_numbers = st.integers(-(10**40), 10**40) | st.sampled_from(
    [0, 1, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 10**30, 10**4000]
)
_times = st.sampled_from(
    [
        *("1000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999999999999999999999999999999Z"),
        *("1000-01-01T00:00:00.5Z", "2026-11-20T10:00:00Z"),
    ]
)
_dates = st.sampled_from(
    [
        "0000",
        "9999-99-99",
        "-5000",
        "10000-01-01",
        "99999999999999999999",
        "٢٠٢٦",
        "²⁰²⁶",
        "2026-02-31",
        "1/2/3",
        "0001-01-01",
    ]
)


def _says_something(text: str) -> bool:
    return bool(text.strip()) and not {"\ufffe", "\uffff"} & set(text)


_texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40).filter(
    _says_something
) | st.sampled_from(
    [
        "\u202e" * 50,
        "\ufdfa" * 500,
        "x" * 100_000,
        "{" * 200,
        "\\",
        "%",
        "]]>",
        "{{ 7 * 7 }}",
        "\u0301",
        ",",
        " , ",
        "\U000e0001",
    ]
)
_tags = st.sampled_from(["pt", "zz", "qaa", "pt-ZZ", "zz-QQ"])
_values = st.lists(st.builds(lambda value, tag: {"value": value, "language": tag}, _texts, _tags), max_size=3)
_people = st.lists(
    st.builds(lambda name: {"name": name}, _texts | st.sampled_from([",", ", ,", "a,b,c,d", "van  der"])), max_size=3
)


@st.composite
def _records(draw: st.DrawFn) -> dict[str, Any]:
    """Members in the place of those of an honest record."""
    metadata = {
        "title": [{"value": "x"}, *draw(_values)],
        "creator": draw(_people),
        "contributor": draw(_people),
        "date": [{"value": draw(_dates | _texts)}],
        "language": [{"value": draw(_tags | _texts)}],
        **{
            name: draw(_values)
            for name in ("subject", "description", "type", "identifier", "publisher", "source", "rights")
        },
        "licence": draw(st.sampled_from(["CC-BY-4.0", "https://[", "http://x" * 200, "..", "https://a/%00"])),
        "places": [
            {
                "name": draw(_texts),
                "box": draw(st.sampled_from([["-180", "-90", "180", "90"], ["180", "0", "-180", "0"]])),
            },
            {"name": draw(_texts)},
        ],
    }
    created = draw(_times)
    return {
        "schema": draw(st.sampled_from([1, 3, 2**63 - 1])),
        "version": draw(st.sampled_from([1, 2**31 - 1]) | st.integers(1, 10**40)),
        "created": created,
        "updated": draw(st.sampled_from([created, "9999-12-31T23:59:59Z"])),
        "language": draw(_tags),
        "metadata": {name: value for name, value in metadata.items() if draw(st.booleans()) or name == "title"},
        "visibility": {"embargo": draw(_times), "listing": draw(st.booleans())},
    }


def _honest() -> tuple[dict[str, Any], dict[str, bytes]]:
    one, contents = kept(REP, "8JMKD3MGP8W/35MMLL8")
    return json.loads(encode_item(one)), contents


@given(
    members=_records(),
    size=st.none() | st.sampled_from([2**31, 2**63 - 1]) | _numbers,
    style=st.sampled_from(OWN_STYLES),
)
@example(members={"version": 10**30}, size=None, style="abnt")
@example(members={"version": 2**31 - 1}, size=2**63 - 1, style="abnt")
@example(members={"created": "1000-01-01T00:00:00Z", "updated": "9999-12-31T23:59:59Z"}, size=None, style="abnt")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
async def test_no_page_feed_or_export_fails_on_a_record_that_is_read(
    members: dict[str, Any], size: int | None, style: str
) -> None:
    record, contents = _honest()
    if size is not None:
        record["files"][0]["size"] = size
    try:
        item = decode_item(json.dumps(record | members).encode(), LOCAL)
    except (InvalidDocument, ValueError):
        return  # refused, as a Copy is
    copy = replace(life_cycle.copy(item, "arq.other.br"), source_protocol=None)
    app = archive_app((copy, contents))
    for place in (*SHOWN, f"{PAGE}?style={style}"):
        assert (await app.get(place, {"accept": "text/html"} if place == PAGE else {})).status < 500, place


@pytest.mark.parametrize("language", ["en", "pt-BR", "es"])
def test_every_number_can_be_written(language: str) -> None:
    filters = _environment(language).filters
    for number in (0, -1, 10**18, 10**30, -(10**30), 10**400, 10**5000):
        assert filters["number"](number)
        assert filters["size"](abs(number))
