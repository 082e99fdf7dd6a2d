"""E24: how each outcome that sends nobody on is told: by its status, as facts, and in three languages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import html5lib
import pytest

from ibi.membership.rules.authority import ArchiveRef
from ibi.standard.label import parse
from ibi.standard.messages import LabelForms, UrlRequest
from ibi.standard.reply import Failure
from tests.docs.tables import ROOT
from tests.support.resolver_app import REP, A, B, C, ResolverApp, item, resolver_app
from tests.support.scripted_archives import body
from tests.support.scripted_gateway import After, Said, Script, at_once
from tests.support.virtual_time import in_virtual_time, now

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


LATER = "lab.br/arq/2010/01.01.01.01"


def until_deleted(request: UrlRequest) -> bytes:
    """An item whose next edition was deleted."""
    if str(request.label) == REP:
        return body(A, f"rep {REP}", ibi__nextedition=f"{{rep {LATER}}}")
    return body(A, f"rep {LATER}", state="Deleted", timestamp="2020-05-06T07:08:09Z")


def until_nowhere(request: UrlRequest) -> bytes:
    """An item whose next edition is not here."""
    return until_deleted(request) if str(request.label) == REP else b""


def until_later(archive: ArchiveRef, state: str, *, others: bool = True) -> Script:
    """An item whose next edition is there; without `others`, nothing else of it."""

    def say(request: UrlRequest) -> bytes:
        if str(request.label) == REP:
            return body(archive, f"rep {REP}", ibi__nextedition=f"{{rep {LATER}}}")
        url = f"http://{archive.address}/later"
        pairs = {"url": url, "contenttype": "Data", "state": state} if others else {}
        return body(archive, f"rep {LATER}", **pairs)

    return say


def only_itself(request: UrlRequest) -> bytes:
    return body(A, f"rep {REP}")


HOME = ArchiveRef(LabelForms.of(parse("lab.br/arq/2008/03.17.15.17")), "home.example.org")
"""The Archive that named the item."""


def later_elsewhere(request: UrlRequest) -> bytes:
    return body(A, f"rep {REP}", ibi__nextedition="{rep evil.br/arq/2013/01.01.00.00}")


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
    ({HOME: Failure.UNREACHABLE, A: item(A)}, f"/{REP}", 300, "unproven-claim"),
    ({HOME: Failure.UNREACHABLE, A: later_elsewhere}, f"/{REP}!", 300, "unproven-claim"),
    ({HOME: b"", A: item(A), B: item(B)}, f"/{REP}", 300, "unproven-claim"),
    ({HOME: Failure.UNREACHABLE, A: b""}, f"/{REP}", 502, "no-archive-answered"),
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


@each_case
async def test_every_alert_says_what_to_do_next(
    archives: Mapping[ArchiveRef, Said | Script], target: str, status: int, code: str
) -> None:
    if code == "not-found":  # no link at all
        return
    advised = (await resolver_app(archives).get(target)).json()["next"]
    assert advised
    assert target not in [each["url"] for each in advised], "what was asked for in vain"


@pytest.mark.parametrize(
    "target",
    [
        f"/{REP}+(xx)",
        f"/{REP}+(pt-XX)",
        f"/{REP}+(portuguese)",
        f"/{REP}+?ibiurl.language=xx",
        f"/{REP}?ibiurl.language=",
        f"/{REP}?ibiurl.info=xml",
        f"/{REP}?ibiurl.verblist=GetEverything",
        f"/{REP}!!",
        f"/{REP}:()",
        "/lab.br/arq/2009/13.01.01.01",
        "/lab.br/arq@0/2009/01.01.01.01",
        "/8JMKD3MGP8W/22",
    ],
)
async def test_what_is_wrong_with_a_link_is_told_in_the_language_of_its_reader(target: str) -> None:
    app = resolver_app({A: b""})
    details = []
    for language in ("en", "pt-BR", "es"):
        answer = await app.get(target, headers={"accept-language": language})
        assert (answer.status, answer.headers["content-language"]) == (400, language)
        assert "Accept-Language" in answer.headers["vary"]
        details.append(answer.json()["detail"].partition(": ")[2])
    assert len(set(details)) == 3, details


async def test_a_link_that_cannot_be_read_leads_to_where_it_is_taken_apart() -> None:
    app = resolver_app({A: b""})
    link = f"{REP}?ibiurl.language=xx&a=<b>"
    (explained,) = [each["url"] for each in (await told(app, f"/{link}"))["next"] if each["url"]]
    assert explained == f"/explain?q={quote(link, safe='')}"
    assert len((await told(app, f"/{REP}+(xx)?{'a' * 6000}"))["next"]) == 1


async def told(app: ResolverApp, target: str) -> dict[str, Any]:
    record: dict[str, Any] = (await app.get(target)).json()
    return record


async def test_claims_that_nothing_proves_are_shown_with_who_claims_what_and_kept_by_no_one() -> None:
    app = resolver_app({HOME: Failure.UNREACHABLE, A: item(A), B: item(B, "Copy")})
    for _ in range(2):
        answer = await app.get(f"/{REP}")
        assert (answer.status, answer.headers["cache-control"]) == (300, "no-store")
        assert "location" not in answer.headers
        facts = answer.json()
        assert (facts["at"], facts["why"]) == (REP, "home silent")
        assert facts["home"]["address"] == HOME.address
        assert [(each["archive"]["address"], each["url"], each["state"], each["item"]) for each in facts["claims"]] == [
            (A.address, f"http://{A.address}/col/{REP}/doc/a.txt", "Original", None),
            (B.address, f"http://{B.address}/col/{REP}/doc/a.txt", "Copy", None),
        ]
    assert not app.gateway.thanked
    _, page = await app.page(f"/{REP}")
    assert f'href="http://{A.address}/col/{REP}/doc/a.txt"' in page


async def test_a_pointer_that_nothing_proves_leads_through_this_resolver() -> None:
    facts = (await resolver_app({HOME: Failure.UNREACHABLE, A: later_elsewhere}).get(f"/{REP}!")).json()
    (claim,) = facts["claims"]
    assert claim["item"] == "evil.br/arq/2013/01.01.00.00"
    assert claim["url"] == "http://resolver.example.org:80/evil.br/arq/2013/01.01.00.00!"


async def test_a_deletion_elsewhere_leads_to_the_tombstone_there_and_thanks_no_archive() -> None:
    app = resolver_app({A: GONE})
    _, page = await app.page(f"/{REP}")
    assert f'href="http://{A.address}/{REP}"' in page
    assert f"http://{A.address}/{REP}" in [each["url"] for each in (await told(app, f"/{REP}"))["next"]]
    assert not app.gateway.thanked


class TestWhatToDoNext:
    async def test_silence_is_counted_and_never_kept(self) -> None:
        app = resolver_app({A: b"", B: Failure.UNREACHABLE, C: Failure.TIMED_OUT})
        answer = await app.get(f"/{REP}")
        facts = answer.json()
        assert answer.headers["cache-control"] == "no-store"
        assert facts["archives_asked"] == 3
        assert [each["address"] for each in facts["archives_silent"]] == ["b.example.org", "c.example.org"]
        assert "2 Archives did not answer" in facts["detail"]
        assert facts["title"] == "No Archive that answered has this item"

    async def test_nothing_is_kept_for_a_moment_if_every_archive_was_heard(self) -> None:
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

    async def test_an_alert_says_that_a_later_edition_was_deleted(self) -> None:
        facts = await told(resolver_app({A: until_deleted}), f"/{REP}!:(oai_dc)")
        assert facts["type"] == "urn:ibi:problem:item-deleted"
        assert (facts["label"], facts["at"]) == (REP, LATER)
        assert facts["detail"].startswith(f"{LATER} was deleted on 2020-05-06")
        assert facts["next"][0]["url"] == f"/{REP}:(oai_dc)"
        _, page = await resolver_app({A: until_deleted}).page(f"/{REP}!")
        assert f'href="http://a.example.org/{LATER}"' in page
        assert f'href="http://a.example.org/{REP}"' not in page

    async def test_of_which_edition_the_original_is_disputed_or_missing(self) -> None:
        disputed = resolver_app({A: until_later(A, "Original"), B: until_later(B, "Original")})
        facts = await told(disputed, f"/{REP}!{ORIGINAL}")
        assert (facts["status"], facts["at"]) == (409, LATER)
        assert f"the Original of {LATER}:" in facts["detail"]
        missing = resolver_app({A: until_later(A, "Copy"), B: until_later(B, "Copy")})
        facts = await told(missing, f"/{REP}!{ORIGINAL}")
        assert (facts["status"], facts["at"]) == (404, LATER)
        assert f"Copies of {LATER}," in facts["detail"]

    @pytest.mark.parametrize(
        ("modifier", "advised"),
        [(":", [":(oai_dc)", ""]), (":(oai_dc)", [":", ""]), (":(BibINPE)", [":", ":(oai_dc)", ""])],
    )
    async def test_what_other_metadata_there_may_be(self, modifier: str, advised: list[str]) -> None:
        facts = await told(resolver_app({A: only_itself}), f"/{REP}{modifier}")
        assert [each["url"] for each in facts["next"]] == [f"/{REP}{each}" for each in advised]

    async def test_an_alert_says_that_the_metadata_is_not_translated(self) -> None:
        facts = await told(resolver_app({A: only_itself}), f"/{REP}:+(en)")
        assert facts["detail"] == f"The metadata of {REP} is not available in the requested language."
        assert [each["url"] for each in facts["next"]] == [f"/{REP}:"]

    async def test_metadata_of_a_later_edition_is_looked_for_there(self) -> None:
        facts = await told(resolver_app({A: until_later(A, "Original", others=False)}), f"/{REP}!:")
        assert [each["url"] for each in facts["next"]] == [f"/{LATER}:(oai_dc)", f"/{LATER}"]

    async def test_the_spelling_with_which_it_was_generated(self) -> None:
        facts = await told(resolver_app({A: b""}), f"/{REP.upper()}")
        assert facts["suggestions"][0] == REP
        facts = await told(resolver_app({A: b""}), "/8jmkd3mgp8w/34pgrbs")
        assert facts["suggestions"] == ["8JMKD3MGP8W/34PGRBS"]

    async def test_the_languages_there_are(self) -> None:
        facts = await told(resolver_app({A: TRANSLATED}), f"/{REP}+(pt)")
        assert f"{REP} is not available in pt; available: en, es." == facts["detail"]
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

    async def test_who_was_given_up_before_time_was_up_is_a_timeout_too(self) -> None:
        answer = await resolver_app({A: Failure.TIMED_OUT, B: Failure.UNREACHABLE}).get(f"/{REP}")
        assert (answer.status, answer.json()["detail"]) == (504, "2 Archives were asked and did not answer.")

    @pytest.mark.parametrize(
        ("failure", "status"), [(Failure.UNREACHABLE, 502), (Failure.MALFORMED, 502), (Failure.TIMED_OUT, 504)]
    )
    async def test_our_own_archive_without_the_item_does_not_speak_for_the_others(
        self, failure: Failure, status: int
    ) -> None:
        app = resolver_app({A: b"", B: failure, C: Failure.UNREACHABLE}, own=A)
        answer = await app.get(f"/{REP}")
        assert (answer.status, answer.headers["cache-control"]) == (status, "no-store")
        facts = answer.json()
        assert facts["type"] == "urn:ibi:problem:no-archive-answered"
        assert facts["detail"] == "2 Archives were asked and did not answer."
        assert [each["address"] for each in facts["archives_silent"]] == ["b.example.org", "c.example.org"]

    async def test_our_own_archive_is_believed_about_what_it_named_itself(self) -> None:
        app = resolver_app({A: b"", B: Failure.UNREACHABLE}, own=A)
        named_by_a = str(A.service.labels[0]).replace("2008", "2009")
        assert (await app.get(f"/{named_by_a}")).status == 404

    async def test_an_alert_says_that_the_archive_of_an_item_is_switched_off(self) -> None:
        service = LabelForms.of(parse("lab.br/arq/2008/03.17.15.17"))
        app = resolver_app({A: b""}, away=(service,))
        answer = await app.get(f"/{REP}")
        assert (answer.status, answer.headers["cache-control"]) == (502, "no-store")
        assert answer.headers["retry-after"] == "30"
        facts = answer.json()
        assert facts["title"] == "The Archive of this item could not be asked"
        assert facts["detail"].startswith("lab.br/arq/2008/03.17.15.17, the Archive where")
        assert facts["home"] == {"address": None, "ibi": {"rep": "lab.br/arq/2008/03.17.15.17", "ibip": None}}
        assert facts["next"]
        trusted = replace(A, vouched=True)
        found = resolver_app({trusted: item(trusted, "Copy")}, away=(service,))
        assert (await found.get(f"/{REP}")).status == 302, "a Copy elsewhere will do if somebody vouches for it"

    async def test_an_alert_says_that_the_archive_of_what_the_link_leads_to_is_switched_off(self) -> None:
        service = LabelForms.of(parse("lab.br/arq/2008/03.17.15.17"))
        app = resolver_app({replace(A, vouched=True): until_nowhere, B: b""}, away=(service,))
        answer = await app.get(f"/{REP}!")
        assert (answer.status, answer.headers["cache-control"]) == (502, "no-store")
        facts = answer.json()
        assert facts["detail"].startswith(f"lab.br/arq/2008/03.17.15.17, the Archive where {LATER} should be,")
        assert (facts["label"], facts["at"]) == (REP, LATER)
        assert facts["next"][0]["url"] == f"/{REP}"

    async def test_an_alert_says_that_no_archive_could_be_asked_for_what_the_link_leads_to(self) -> None:
        facts = await told(resolver_app({A: until_nowhere, B: Failure.UNREACHABLE}, own=A), f"/{REP}!")
        assert facts["type"] == "urn:ibi:problem:no-archive-answered"
        assert facts["at"] == LATER

    def test_which_item_should_be_where_no_archive_answers(self) -> None:
        async def run() -> Any:
            app = resolver_app({A: until_nowhere, B: until_later(B, "Original")}, clock=now)
            assert (await app.get(f"/{LATER}")).status == 302
            app.gateway.archives_ = {A: at_once(until_nowhere), B: at_once(Failure.UNREACHABLE)}
            return await told(app, f"/{REP}!")

        facts = in_virtual_time(run())
        assert facts["detail"] == f"{B.address}, where {LATER} should be, does not answer."
        assert facts["at"] == LATER
        assert facts["next"][0]["url"] == f"/{REP}"

    async def test_one_other_archive_that_was_heard_is_enough(self) -> None:
        app = resolver_app({A: b"", B: b"", C: Failure.UNREACHABLE}, own=A)
        assert (await app.get(f"/{REP}")).status == 404

    async def test_how_it_came_about_is_one_link_away(self) -> None:
        _, page = await resolver_app({A: b""}).page(f"/{REP}?page=2")
        assert f'href="/{REP}?page=2&amp;ibiurl.trace=html"' in page


def test_every_code_is_documented_with_its_status() -> None:
    page = (ROOT / "docs" / "spec" / "resolution.md").read_text(encoding="utf-8")
    rows = [line for line in page.partition("## Alerts")[2].splitlines() if line.startswith("| `")]
    for _, _, status, code in CASES:
        if code != "not-found":
            assert any(f"`{code}`" in row.split("|")[1] and str(status) in row.split("|")[2] for row in rows), code
