"""Jobs that make Copies, over the API: begun, watched, cancelled; and Copies that are dropped."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from ibi.people.model.account import Scope
from ibi.standard.label import parse
from ibi.standard.vocabulary import State
from tests.support.copy_world import IBIP, REP, SourceRequest, object_said, original, source_archive
from tests.support.records_app import RECORDS, RecordsApp, unstarted_records_app

JOBS = "/api/copies"
OTHER = "lab.br/arq/2010/01.02.03.04"


async def ask(app: RecordsApp, method: str, path: str, said: object = None, scope: Scope = Scope.EDIT) -> Any:
    return await app.ask(method, path, said, headers=app.bearer(scope, "bea"))


async def test_a_job_makes_copies_and_tells_what_became_of_each(tmp_path: Path) -> None:
    one, contents = original()
    with source_archive(object_said(one), contents) as source, unstarted_records_app(tmp_path) as app:
        begun = await ask(app, "POST", JOBS, {"labels": [IBIP, OTHER], "from": source.url, "token": "secret"})
        assert begun.status == 202
        assert begun.headers["location"].endswith(f"{JOBS}/{begun.json()['id']}")
        assert begun.json()["state"] == "waiting"
        place = f"{JOBS}/{begun.json()['id']}"
        work = app.parts.copy_work
        assert work is not None
        while work.step():
            pass
        job = await ask(app, "GET", place)
        assert b"secret" not in job.body
        found = job.json()
        assert (found["state"], found["copied"], found["refused"], found["size"]) == ("done", 1, 1, 10)
        assert [(item["label"], item["outcome"]) for item in found["items"]] == [(IBIP, "copied"), (OTHER, "refused")]
        assert "wrong-object" in found["items"][1]["code"]
        listed = (await ask(app, "GET", JOBS)).json()["jobs"]
        assert [each["id"] for each in listed] == [found["id"]]
        assert app.store.find(parse(REP)).state is State.COPY

        assert (await ask(app, "DELETE", f"{RECORDS}/{REP}/object", scope=Scope.DEPOSIT)).status == 403
        assert (await ask(app, "DELETE", f"{RECORDS}/{REP}/object")).status == 204
        assert (await ask(app, "DELETE", f"{RECORDS}/{REP}/object")).status == 404


async def test_a_job_that_is_cancelled_stops_and_leaves_nothing_half_made(tmp_path: Path) -> None:
    one, contents = original(files={"a.bin": b"x" * 3_000_000})
    asked, go_on = threading.Event(), threading.Event()

    def slowly(request: SourceRequest) -> bool:
        if "/files/" not in request.path:
            return False
        request.send_response(200)
        request.send_header("Content-Length", "3000000")
        request.end_headers()
        request.wfile.write(contents["a.bin"][:1_500_000])
        asked.set()
        go_on.wait(30)
        request.wfile.write(contents["a.bin"][1_500_000:])
        return True

    with source_archive(object_said(one), contents, special=slowly) as source, unstarted_records_app(tmp_path) as app:
        job = (await ask(app, "POST", JOBS, {"labels": [IBIP], "from": source.url})).json()
        work = app.parts.copy_work
        assert work is not None
        working = threading.Thread(target=work.step)
        working.start()
        assert asked.wait(30)
        cancelled = await ask(app, "DELETE", f"{JOBS}/{job['id']}")
        assert cancelled.json()["state"] == "cancelled"
        go_on.set()
        working.join(30)
        assert app.store.catalog.find(parse(REP)) is None
        assert (await ask(app, "GET", f"{JOBS}/{job['id']}")).json()["state"] == "cancelled"


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"labels": []},
        {"labels": ["no label"]},
        {"labels": "x"},
        {"labels": [IBIP], "from": "ftp://x"},
        {"labels": [IBIP], "from": "http://x/path"},
        {"labels": [IBIP], "from": 1},
        {"labels": [IBIP], "token": "two words\n"},
        {"labels": [IBIP], "other": 1},
    ],
)
async def test_a_job_that_cannot_be_read_is_refused(tmp_path: Path, said: object) -> None:
    with unstarted_records_app(tmp_path) as app:
        assert (await ask(app, "POST", JOBS, said)).status == 400


@pytest.mark.parametrize("scope", [Scope.READ, Scope.DEPOSIT, Scope.COPY])
async def test_jobs_are_for_librarians(tmp_path: Path, scope: Scope) -> None:
    with unstarted_records_app(tmp_path) as app:
        for method, path in (("GET", JOBS), ("POST", JOBS), ("GET", f"{JOBS}/x"), ("DELETE", f"{JOBS}/x")):
            assert (await ask(app, method, path, scope=scope)).status == 403


async def test_an_unknown_job_is_not_found(tmp_path: Path) -> None:
    with unstarted_records_app(tmp_path) as app:
        assert (await ask(app, "GET", f"{JOBS}/0123456789abcdef")).status == 404
        assert (await ask(app, "DELETE", f"{JOBS}/0123456789abcdef")).status == 404
