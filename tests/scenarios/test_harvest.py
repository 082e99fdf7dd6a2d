"""A harvester that others wrote (Sickle) reads a real server while another process changes what it reads.

`SOAK_HARVEST=1` has it read a hundred thousand records, with fifty changes a second.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest
from sickle import Sickle
from sickle.oaiexceptions import BadArgument, BadResumptionToken, IdDoesNotExist, NoRecordsMatch

from tests.support.ibi_command import IbiCommand

ROOT = Path(__file__).parents[2]
ITEMS, RATE = (100_000, 50) if os.environ.get("SOAK_HARVEST") else (350, 200)


@pytest.fixture
def ibi(tmp_path: Path) -> IbiCommand:
    return IbiCommand(tmp_path)


@contextmanager
def changing(ibi: IbiCommand) -> Iterator[subprocess.Popen[str]]:
    worker = subprocess.Popen(
        [sys.executable, "-m", "tests.support.changing_catalogue", str(ibi.data), str(ITEMS), str(RATE)],
        env=ibi.environment(),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "filled\n"
        yield worker
    finally:
        if worker.stdin is not None and not worker.stdin.closed:
            worker.communicate(timeout=60)


def harvest(url: str, **arguments: str) -> tuple[dict[str, str | None], str]:
    """The title of each record, None if it is deleted, as it was given last; and the date of the last answer."""
    records = Sickle(f"{url}/oai").ListRecords(metadataPrefix="oai_dc", **arguments)
    found = {record.header.identifier: None if record.deleted else record.metadata["title"][0] for record in records}
    (date,) = records.oai_response.xml.iter("{http://www.openarchives.org/OAI/2.0/}responseDate")
    return found, str(date.text)


def feed(url: str) -> dict[str, str]:
    """The second in which the last entry of each item was listed."""
    after, listed = 0, dict[str, str]()
    while True:
        page = json.load(urlopen(f"{url}/api/changes?after={after}"))
        listed |= {each["label"]: each["listed"] for each in page["changes"]}
        if not page["changes"]:
            return listed
        after = page["after"]


def test_a_harvest_while_everything_changes_loses_nothing_and_the_next_gives_what_changed(ibi: IbiCommand) -> None:
    with ibi.up() as (_, url):
        with changing(ibi) as worker:
            before = set(feed(url))
            found, date = harvest(url)
            out, _ = worker.communicate(timeout=60)
        assert int(out) > 0
        beginning = next(iter(found)).rpartition(":")[0]
        assert {f"{beginning}:{label}" for label in before} <= set(found)
        try:
            after, _ = harvest(url, **{"from": date})
        except NoRecordsMatch:
            after = {}
        listed = feed(url)
        assert set(after) == {f"{beginning}:{label}" for label, second in listed.items() if second >= date}
        whole, _ = harvest(url)
        assert {**found, **after} == whole
        assert set(whole) == {f"{beginning}:{label}" for label in listed}
        assert None in whole.values()


def test_a_harvester_that_others_wrote_understands_every_answer(ibi: IbiCommand) -> None:
    with ibi.up("--demo", IBI_ARCHIVE_ADMIN_EMAIL="ana@lab.br") as (_, url):
        client = Sickle(f"{url}/oai", http_method="POST")
        identity = client.Identify()
        assert identity.baseURL == f"{url}/oai"
        assert identity.adminEmail == "ana@lab.br"
        assert identity.deletedRecord == "persistent"
        assert [each.metadataPrefix for each in client.ListMetadataFormats()] == ["oai_dc"]
        sets = [each.setSpec for each in client.ListSets()]
        headers = list(client.ListIdentifiers(metadataPrefix="oai_dc"))
        assert {spec for header in headers for spec in header.setSpecs} <= set(sets)
        for header in headers[:3]:
            record = client.GetRecord(metadataPrefix="oai_dc", identifier=header.identifier)
            assert record.header.datestamp == header.datestamp
            chosen = client.ListIdentifiers(metadataPrefix="oai_dc", set=header.setSpecs[-1])
            assert header.identifier in {each.identifier for each in chosen}
        with pytest.raises(IdDoesNotExist):
            client.GetRecord(metadataPrefix="oai_dc", identifier="oai:a:b")
        with pytest.raises(BadResumptionToken):
            client.ListRecords(resumptionToken="x")
        with pytest.raises(BadArgument):
            client.ListRecords(metadataPrefix="oai_dc", until="never")
