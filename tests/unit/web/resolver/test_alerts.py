"""E24: how each outcome that sends nobody on is told: by its status, as facts, and in three languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import html5lib
import pytest

from ibi.messages import UrlRequest
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.trace import Failure
from tests.docs.tables import ROOT
from tests.resolver_app import REP, A, B, C, ResolverApp, item, resolver_app
from tests.scripted_archives import body
from tests.scripted_gateway import After, Said, Script
from tests.virtual_time import in_virtual_time, now

GONE = body(A, f"rep {REP}", state="Deleted", timestamp="2020-05-06T07:08:09Z")
TRANSLATED = body(
    A,
    f"rep {REP}",
    **{
        f"{name}.translation({tag})": value
        for tag in ("en", "es")
        for name, value in (("url", f"http://a.example.org/{tag}"), ("contenttype", "Data"), ("state", "Original"))
    },
)
ORIGINAL = "?ibiurl.requireditemstatus=Original"


def circle(request: UrlRequest) -> bytes:
    """Two editions that name each other as the next one."""
    other = "lab.br/arq/2010/01.01.01.01"
    asked, following = (REP, other) if str(request.label) == REP else (other, REP)
    return body(A, f"rep {asked}", ibi__nextedition=f"{{rep {following}}}")


def only_itself(request: UrlRequest) -> bytes:
    return body(A, f"rep {REP}")


CASES: list[tuple[Mapping[ArchiveRef, Said | Script], str, int, str]] = [
    ({A: b""}, f"/{REP}", 404, "unknown-item"),
    ({A: b"", B: Failure.UNREACHABLE}, f"/{REP}", 404, "unknown-item"),
    ({A: GONE}, f"/{REP}", 410, "item-deleted"),
    ({A: only_itself}, f"/{REP}/none.txt", 404, "no-such-file"),
    ({A: only_itself}, f"/{REP}?ibiurl.verblist=GetFileList", 404, "no-such-file"),
    ({A: TRANSLATED}, f"/{REP}+(pt)", 404, "no-such-translation"),
    ({A: only_itself}, f"/{REP}:(oai_dc)", 404, "no-such-metadata"),
    ({A: item(A, host="evil.example.com")}, f"/{REP}", 404, "url-refused"),
    ({A: item(A, "Copy"), B: item(B, "Copy")}, f"/{REP}{ORIGINAL}", 404, "original-not-found"),
    ({A: item(A), B: item(B)}, f"/{REP}{ORIGINAL}", 409, "original-disputed"),
    ({A: circle}, f"/{REP}!", 404, "loop-detected"),
    ({A: Failure.UNREACHABLE, B: Failure.REFUSED}, f"/{REP}", 502, "no-archive-answered"),
    ({}, f"/{REP}", 502, "no-archive-answered"),
    ({A: b""}, f"/{REP}.", 404, "punctuated-label"),
    ({A: b""}, "/lab.br/arq/2009/99.99.99.99", 400, "invalid-persistent-url"),
    ({A: b""}, f"/{REP}/../x", 400, "invalid-persistent-url"),
    ({A: b""}, "/favicon.ico", 404, "not-found"),
]


def each_case(test: Any) -> Any:
    return pytest.mark.parametrize(
        ("archives", "target", "status", "code"),
        CASES,
        ids=[f"{case[3]}-{number}" for number, case in enumerate(CASES)],
    )(test)


@each_case
async def test_programs_get_a_problem_with_its_status(
    archives: Mapping[ArchiveRef, Said | Script], target: str, status: int, code: str
) -> None:
    answer = await resolver_app(archives).get(target)
    told = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status, told["status"], told["type"]) == (status, status, f"urn:ibi:problem:{code}")
    assert told["detail"]
    assert told["title"]


@each_case
async def test_head_is_answered_alike(
    archives: Mapping[ArchiveRef, Said | Script], target: str, status: int, code: str
) -> None:
    answer = await resolver_app(archives).get(target, method="HEAD")
    assert (answer.status, answer.body) == (status, b"")


@each_case
async def test_people_get_a_page_in_their_language(
    archives: Mapping[ArchiveRef, Said | Script], target: str, status: int, code: str
) -> None:
    app = resolver_app(archives)
    headings = set()
    for language in ("en", "pt-BR", "es"):
        found, page = await app.page(target, language)
        document = html5lib.HTMLParser(strict=True).parse(page)
        assert found == status
        assert document.get("lang") == language
        headings.add(next(document.iter("{http://www.w3.org/1999/xhtml}h1")).text)
    assert len(headings) == 3


async def told(app: ResolverApp, target: str) -> dict[str, Any]:
    record: dict[str, Any] = (await app.get(target)).json()
    return record


class TestWhatToDoNext:
    async def test_silence_is_counted_and_never_kept(self) -> None:
        app = resolver_app({A: b"", B: Failure.UNREACHABLE, C: Failure.TIMED_OUT})
        answer = await app.get(f"/{REP}")
        facts = answer.json()
        assert answer.headers["cache-control"] == "no-store"
        assert facts["archives_asked"] == 3
        assert [each["address"] for each in facts["archives_silent"]] == ["b.example.org", "c.example.org"]
        assert "2 Archives did not answer" in facts["detail"]

    async def test_nothing_is_kept_for_a_moment_if_everybody_was_heard(self) -> None:
        answer = await resolver_app({A: b""}).get(f"/{REP}")
        assert answer.headers["cache-control"] == "private, max-age=5"

    async def test_another_spelling_of_the_host_is_suggested(self) -> None:
        """E3."""
        facts = await told(resolver_app({A: b""}), f"/{REP}/a.txt")
        assert facts["suggestions"] == [
            f"{REP.replace('arq/', 'arq@80/')}/a.txt",
            f"{REP.replace('arq/', 'arq.80/')}/a.txt",
        ]
        _, page = await resolver_app({A: b""}).page(f"/{REP}")
        assert f'href="/{REP.replace("arq/", "arq@80/")}"' in page

    async def test_a_label_in_a_sentence_is_suggested_without_its_full_stop(self) -> None:
        """E35."""
        facts = await told(resolver_app({A: b""}), f"/{REP}.")
        assert facts["suggestions"] == [REP]

    async def test_who_deleted_it_when_and_who_has_a_copy(self) -> None:
        app = resolver_app({A: item(A), B: item(B, "Copy")})
        await app.get(f"/{REP}")  # so that its holder is known
        app.gateway.archives_ = {
            A: app.gateway.archives_[A].__class__(0.0, GONE, local=True),
            B: app.gateway.archives_[B],
        }
        facts = await told(app, f"/{REP}")
        assert facts["deleted_by"]["address"] == "a.example.org"
        assert facts["deleted_at"] == "2020-05-06T07:08:09Z"
        assert [each["address"] for each in facts["copies"]] == ["b.example.org"]

    async def test_the_languages_there_are(self) -> None:
        facts = await told(resolver_app({A: TRANSLATED}), f"/{REP}+(pt)")
        assert facts["languages"] == ["en", "es"]
        assert [each["url"] for each in facts["next"]] == [f"/{REP}+(en)", f"/{REP}+(es)"]
        assert "en, es" in facts["detail"]

    async def test_who_claims_the_original(self) -> None:
        facts = await told(resolver_app({A: item(A), B: item(B)}), f"/{REP}{ORIGINAL}")
        assert [each["address"] for each in facts["claimants"]] == ["a.example.org", "b.example.org"]
        assert "a.example.org, b.example.org" in facts["detail"]
        assert f"/{REP}" in [each["url"] for each in facts["next"]]

    async def test_who_has_a_copy_when_there_is_no_original(self) -> None:
        facts = await told(resolver_app({A: item(A, "Copy"), B: b""}), f"/{REP}{ORIGINAL}")
        assert [each["address"] for each in facts["copies"]] == ["a.example.org"]

    async def test_the_circle_is_shown(self) -> None:
        facts = await told(resolver_app({A: circle}), f"/{REP}!")
        assert facts["path"][0] == facts["path"][-1] == REP
        assert facts["next"][0]["url"] == f"/{REP}"

    async def test_when_to_come_back(self) -> None:
        answer = await resolver_app({A: Failure.UNREACHABLE}).get(f"/{REP}")
        assert answer.headers["retry-after"] == "30"
        assert answer.headers["cache-control"] == "no-store"

    def test_who_took_too_long_is_a_timeout(self) -> None:
        async def run() -> int:
            app = resolver_app({A: After(60, b"")}, clock=now)
            return (await app.get(f"/{REP}")).status

        assert in_virtual_time(run()) == 504

    async def test_how_it_came_about_is_one_link_away(self) -> None:
        _, page = await resolver_app({A: b""}).page(f"/{REP}?page=2")
        assert f'href="/{REP}?page=2&amp;ibiurl.trace=html"' in page


def test_every_code_is_documented_with_its_status() -> None:
    page = (ROOT / "docs" / "spec" / "resolution.md").read_text(encoding="utf-8")
    rows = [line for line in page.partition("## Alerts")[2].splitlines() if line.startswith("| `")]
    for _, _, status, code in CASES:
        if code != "not-found":
            assert any(f"`{code}`" in row.split("|")[1] and str(status) in row.split("|")[2] for row in rows), code
