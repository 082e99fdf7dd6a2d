"""A whole list as a file: for spreadsheets, reference managers and programs."""

from __future__ import annotations

import csv
import json
import time
from io import StringIO

import pytest

from ibi.items.model.metadata import Agent, DescriptiveMetadata, Text
from ibi.items.model.visibility import Visibility
from ibi.reading.delivery.search_export import cell
from ibi.standard.networks import network
from tests.support.archive_app import ArchiveApp, archive_app, deleted, kept

FORMS = {
    "csv": "text/csv",
    "bib": "application/x-bibtex",
    "ris": "application/x-research-info",
    "ndjson": "application/x-nd",
}


def volumes(number: int) -> ArchiveApp:
    names = [f"lab.br/arq/2011/01.01.{each // 60:02}.{each % 60:02}" for each in range(number)]
    described = [
        DescriptiveMetadata(title=(Text(f"Volume {each}"),), creator=(Agent("Silva, A."),)) for each in range(number)
    ]
    items = [kept(name, metadata=metadata) for name, metadata in zip(names, described, strict=True)]
    return archive_app(*items, deleted("lab.br/arq/2012/01.01.00.00", metadata=described[0]))


@pytest.mark.parametrize("ending", FORMS)
async def test_a_list_of_several_pages_is_given_whole(ending: str) -> None:
    answer = await volumes(250).get(f"/search.{ending}?q=volume&sort=oldest&page=3")

    assert answer.status == 200
    assert answer.headers["content-type"].startswith(FORMS[ending])
    assert answer.headers["content-disposition"] == f'attachment; filename="items.{ending}"'
    text = answer.body.decode()
    assert [text.count(f"Volume {each}") for each in (0, 99, 100, 249)] == [1, 1, 1, 1]
    assert text.index("Volume 0") < text.index("Volume 249")


async def test_a_table_has_a_row_for_each_item() -> None:
    answer = await volumes(3).get("/search.csv?q=volume")
    rows = list(csv.DictReader(StringIO(answer.body.decode("utf-8-sig"))))
    assert [row["title"] for row in rows] == ["Volume 2", "Volume 1", "Volume 0"]
    assert {row["creators"] for row in rows} == {"Silva, A."}
    assert {row["access"] for row in rows} == {"open"}


async def test_records_are_those_of_the_api() -> None:
    app = volumes(2)
    lines = (await app.get("/search.ndjson")).body.splitlines()
    assert [json.loads(line) for line in lines] == (await app.get("/api/items")).json()["items"]


async def test_formulas_are_no_formulas_in_a_table() -> None:
    hostile = DescriptiveMetadata(title=(Text('=HYPERLINK("http://evil.example")'),), creator=(Agent("@SUM(1+1)"),))
    answer = await archive_app(kept("lab.br/arq/2011/01.01.00.00", metadata=hostile)).get("/search.csv")
    (row,) = csv.DictReader(StringIO(answer.body.decode("utf-8-sig")))
    assert row["title"].startswith("'=HYPERLINK")
    assert row["creators"] == "'@SUM(1+1)"


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@x", "\t=1", " =1", "\r=1", "＝1", "＋1"])
def test_a_cell_that_looks_like_a_formula_is_text(text: str) -> None:
    assert cell(text)[:2] == f"'{text[0]}"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Silva; =1", "Silva; '=1"),
        ("a;=1;+2", "a;'=1;'+2"),
        ("a\t@x", "a\t'@x"),
        ("a\r\n-1", "a\r\n'-1"),
        ("a\n\n =1", "a\n\n '=1"),
        ("a;\t;=1", "a;\t;'=1"),
        ("\t=1", "'\t'=1"),
    ],
)
def test_a_formula_where_other_separators_begin_a_cell_is_text(text: str, written: str) -> None:
    assert cell(text) == written


@pytest.mark.parametrize("run", ["\n", ";", " ;", "\t "])
def test_a_long_cell_takes_time_that_is_linear_in_its_length(run: str) -> None:
    began = time.process_time()
    for _ in range(10):
        cell(run * 32_000)
    assert time.process_time() - began < 1


@pytest.mark.parametrize("text", ["", "1", "a=1", "Silva-Costa", "2001-05", "a; b-c\n1"])
def test_other_cells_stay_as_they_are(text: str) -> None:
    assert cell(text) == text


async def test_only_what_all_readers_see_is_given() -> None:
    visibility = Visibility(networks=(network("10.0.0.0/8"),))
    item = kept(
        "lab.br/arq/2011/01.01.00.00",
        visibility=visibility,
        owner="person:ana",
        files={},
        target_url="http://inside.example/",
    )
    app = archive_app(item)
    for ending in FORMS:
        text = (await app.get(f"/search.{ending}")).body.decode()
        assert "person:ana" not in text
        assert "inside.example" not in text


async def test_nothing_found_is_an_empty_file() -> None:
    assert (await volumes(1).get("/search.bib?q=nothing")).body == b""
    assert (await volumes(1).get("/search.csv?q=nothing")).body.decode("utf-8-sig").startswith("label,")


async def test_a_head_reads_no_list() -> None:
    told = await volumes(1).get("/search.csv", method="HEAD")
    assert (told.status, told.body) == (200, b"")
