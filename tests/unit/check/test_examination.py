"""Runs of the checks as a whole: against the standard's own bytes, against noise, and what they send at all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibi.archive.rules.profile import ArchiveProfile, ArchiveUrls
from ibi.check.rules.checking import (
    CheckedServer,
    CheckLevel,
    HeardRequest,
    Judgment,
    MemberIdentity,
    Probe,
    ProbeResponse,
)
from ibi.check.rules.examination import Examination, TimeIsOver
from ibi.check.rules.report import CheckReport, heading, result_lines
from ibi.check.rules.survey import NotEnoughTime, NotSpoken
from tests.docs.tables import ROOT
from tests.support.archive_app import BASE, REP, SERVICE
from tests.support.checked_server import (
    GONE,
    LABELS,
    MEMBER,
    OWN,
    SECOND,
    InProcess,
    Remembered,
    answer_with,
    drop_names,
    run_checks,
)

PRINTED = ROOT / "tests/conformance/resolution/section_9_2/example_9_2.txt"
PLAIN = (("content-type", "text/plain"),)


@pytest.fixture(scope="module")
def ours() -> Iterator[Remembered]:
    process = InProcess()
    yield Remembered(process)
    process.close()


def test_answers_that_the_standard_prints_have_no_fault() -> None:
    """R Example 9.2, whole and not filtered, as one Archive's only answer."""
    body = PRINTED.read_bytes().strip()

    def send(probe: Probe) -> ProbeResponse:
        is_asked = "parsedibiurl.ibi=8JMKD3MGP8W/35MME4E" in unquote(probe.target)
        confirmed = b"confirmation yes" if "inclusionConfirmationRequest" in probe.target else b""
        return ProbeResponse(200, PLAIN, body if is_asked else confirmed)

    service = "sid.inpe.br/mtc-m18@80/2008/03.17.15.17"
    run = run_checks(send, labels=["8JMKD3MGP8W/35MME4E"], service=service, resolver=False)
    reading = ("ibi.check.rules.answer_checks", "ibi.check.rules.answer_checks")
    judged = {result.check.name: result.judgment for result in run.results if result.check.steps.__module__ in reading}
    assert set(judged.values()) == {Judgment.PASS}


def test_ours_with_the_empty_relation_alone_passes_the_minimal_level() -> None:
    small = InProcess(profile=ArchiveProfile("arq.lab.br", SERVICE, ArchiveUrls(BASE, BASE), relations=frozenset()))
    run = run_checks(small, level=CheckLevel.MINIMAL)
    assert run.reasons(Judgment.FAIL, Judgment.WARNING) == {}
    assert "metadata-is-offered" in run_checks(small).named(Judgment.FAIL)
    small.close()


def test_nothing_that_changes_anything_is_sent_unless_asked(ours: Remembered) -> None:
    sent: list[Probe] = []

    def send(probe: Probe) -> ProbeResponse:
        sent.append(probe)
        return ours(probe)

    member = MemberIdentity(MEMBER, "1234567890", "127.0.0.1:9", "127.0.0.1")
    examination = Examination(CheckedServer(BASE, OWN, True, member=member), send)
    examination.recognise(LABELS)
    results = list(examination.results())
    assert {result.judgment for result in results if result.check.changes} == {Judgment.NOT_APPLICABLE}
    for probe in sent:
        assert not re.search("=(acknowledgment|inclusionRequest|exclusionRequest)", probe.target)
        assert probe.method == "GET" or "=inclusionConfirmationRequest" in probe.target
    assert len(sent) == examination.requests < 200


def test_checks_for_which_there_was_no_time_neither_pass_nor_fail(ours: Remembered) -> None:
    for most in (30, 60, 90):
        sent: list[Probe] = []

        def send(probe: Probe, most: int = most, sent: list[Probe] = sent) -> ProbeResponse:
            sent.append(probe)
            if len(sent) > most:
                raise TimeIsOver
            return ours(probe)

        examination = Examination(CheckedServer(BASE, OWN, True), send)
        examination.recognise(LABELS)
        results = list(examination.results())
        report = CheckReport(examination.server, results, examination.is_complete, 1.0, examination.requests)
        missed = [each for each in results if each.judgment is Judgment.NO_TIME]
        assert missed
        assert {each.judgment for each in results} <= {*Judgment} - {Judgment.FAIL}
        assert report.judgment is Judgment.NO_TIME
        assert f"{len(missed)} not made for want of time" in report.summary()
        assert report.summary().endswith(": not enough time")
        record = report.record()
        assert (record["judgment"], record["complete"]) == ("not enough time", False)


def test_a_clause_that_fails_counts_more_than_the_time(ours: Remembered) -> None:
    def send(probe: Probe) -> ProbeResponse:
        if probe.method == "POST":
            return ProbeResponse(200, PLAIN, b"confirmation yes")
        if "xservicesubject" in probe.target:
            raise TimeIsOver
        return ours(probe)

    examination = Examination(CheckedServer(BASE, OWN, True), send)
    examination.recognise(LABELS)
    results = list(examination.results())
    report = CheckReport(examination.server, results, examination.is_complete, 1.0, 1)
    assert {each.judgment for each in results} >= {Judgment.NO_TIME, Judgment.FAIL}
    assert report.judgment is Judgment.FAIL


def test_a_server_that_is_not_known_in_time_is_not_said_to_be_none() -> None:
    def send(probe: Probe) -> ProbeResponse:
        raise TimeIsOver

    with pytest.raises(NotEnoughTime):
        Examination(CheckedServer(BASE), send).recognise(())


def test_a_resolver_alone_is_judged_by_the_items_that_are_named(ours: Remembered) -> None:
    """What its pages name may be in no Archive of it; where an item is kept does not matter."""
    asked: list[str] = []

    def send(probe: Probe) -> ProbeResponse:
        asked.append(probe.target)
        if probe.target == "/":
            return ProbeResponse(
                200, PLAIN, b"Try example.org/nowhere/2020/01.01.00.00 and lab.br/arq/2020/01.01.00.00"
            )
        return ours(probe)

    run = run_checks(send, labels=[SECOND[0], GONE[0], SECOND[1]], service=None)
    assert run.server.links == [SECOND[0], SECOND[1]]  # not what was deleted
    assert run.reasons(Judgment.FAIL) == {}
    assert not [target for target in asked if "example.org/nowhere" in target]
    absent = "lab.br/arq/2011/11.11.11.11"
    failed = run_checks(send, labels=[SECOND[0], absent], service=None).reasons(Judgment.FAIL)
    assert absent in failed["a-link-leads-somewhere"]
    known = run_checks(send, labels=(), service=None)
    assert "example.org/nowhere/2020/01.01.00.00" not in known.server.links


def test_a_resolver_is_not_blamed_for_what_its_archive_does_not_offer(ours: Remembered) -> None:
    def spoil(probe: Probe, received: ProbeResponse) -> ProbeResponse:
        without = drop_names(b".metadata")(probe, received)
        is_link = probe.target.startswith(f"/{REP}") and (":" in probe.target or "GetMetadata" in probe.target)
        return answer_with(lambda _: is_link, 404, b"<p>not found", "text/html")(probe, without)

    failed = run_checks(ours, spoil).reasons(Judgment.FAIL)
    assert {"metadata-is-offered", "metadata-in-oai-dc-is-offered"} <= set(failed)
    assert not failed.keys() & {"links-lead-to-metadata", "verbs-are-modifiers", "each-verb-has-its-synonym"}


def test_the_key_of_the_checker_is_in_no_report() -> None:
    key = "7730914258"

    def send(probe: Probe) -> ProbeResponse:
        refused = f"error {{the key {key} is wrong}}".encode()
        return ProbeResponse(
            200 if "exclusion" in probe.target else 403,
            PLAIN,
            refused,
            heard=(HeardRequest("GET", "/", f"registrationkey={key}"),),
        )

    server = CheckedServer(
        BASE, None, True, may_change=True, member=MemberIdentity(MEMBER, key, "127.0.0.1:9", "127.0.0.1")
    )
    examination = Examination(server, send)
    examination.recognise(())
    results = list(examination.results())
    told = str(CheckReport(server, results, True, 1.0, 1).record())
    assert "registrationkey=***" in told
    assert key not in told
    assert [line for each in results for line in result_lines(each, verbose=True) if key in line] == []


def test_without_items_what_needs_one_does_not_apply(ours: Remembered) -> None:
    run = run_checks(ours, answer_with(lambda probe: "urlRequest" in probe.target), labels=(), resolver=False)
    assert set(run.reasons(Judgment.FAIL)) == {"the-service-is-an-item"}
    assert any("--item" in reason for reason in run.reasons(Judgment.NOT_APPLICABLE).values())


ITEM = f"ibi {{rep {REP}}} url http://x/ state Original".encode()
NOISE = st.one_of(st.binary(max_size=60), st.sampled_from([b"confirmation yes", b"ibi {rep}", ITEM]))
FIELDS = [("content-type", "text/html"), ("location", "http://[x"), ("location", "\x1b"), ("retry-after", "x")]
HEADERS = st.one_of(st.just(PLAIN), st.lists(st.sampled_from(FIELDS), max_size=2).map(tuple))
HEARD = st.builds(HeardRequest, st.just("GET"), st.text(max_size=5), st.text(max_size=40))
RECEIVED = st.builds(ProbeResponse, st.integers(100, 599), HEADERS, NOISE, heard=st.lists(HEARD, max_size=2).map(tuple))


@settings(max_examples=40)
@given(st.lists(RECEIVED, min_size=1, max_size=5), st.booleans(), st.booleans())
def test_any_answers_are_judged_and_shown(answers: list[ProbeResponse], archive: bool, member: bool) -> None:
    def send(probe: Probe) -> ProbeResponse:
        return answers[len(str(probe)) % len(answers)]

    identity = MemberIdentity(MEMBER, "1234567890", "127.0.0.1:9", "127.0.0.1") if member else None
    server = CheckedServer(BASE, OWN if archive else None, not archive, CheckLevel.FULL, True, member=identity)
    examination = Examination(server, send)
    try:
        examination.recognise([REP, SECOND[1]])
    except NotSpoken as reason:
        assert str(reason)
        return
    results = list(examination.results())
    report = CheckReport(server, results, True, 1.0, examination.requests)
    lines = [line for each in results for line in result_lines(each, verbose=True)]
    assert [line for line in (heading(server), report.summary(), *lines) if not line.isprintable()] == []
    assert report.record()
