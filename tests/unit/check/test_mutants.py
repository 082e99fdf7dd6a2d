"""Each check fails on a server that breaks its clause, and on that clause alone: ours, with one thing spoiled."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

from ibi.check.rules.checking import (
    NOT_DIALLED,
    RESOLVER_SERVICE,
    HeardRequest,
    Judgment,
    MemberIdentity,
    Probe,
    ProbeResponse,
)
from ibi.check.rules.examination import ALL_CHECKS
from ibi.check.rules.probe_archive import ProbeArchive
from tests.docs.tables import ROOT, rows
from tests.support.archive_app import BASE, IBIP, REP, SERVICE
from tests.support.checked_server import (
    GONE,
    MEMBER,
    OWN,
    SECOND,
    THIRD,
    InProcess,
    Remembered,
    Send,
    Spoil,
    answer_with,
    drop_names,
    drop_pairs,
    member_of_a_resolver,
    run_checks,
    spoil_answer,
    spoil_body,
    swap,
)


@dataclass(frozen=True)
class Mutant:
    """A server that breaks what `check` checks, and inevitably what `also` do."""

    check: str
    spoil: Spoil
    also: tuple[str, ...] = ()
    judgment: Judgment = Judgment.FAIL


def has(*parts: str) -> Callable[[Probe], bool]:
    return lambda probe: all(part in probe.target for part in parts)


def asks(label: str, *parts: str) -> Callable[[Probe], bool]:
    """A urlRequest about that label without verbs or path, unless they are among the parts."""
    return lambda probe: (
        "urlRequest" in probe.target
        and probe.target.split("parsedibiurl.ibi=")[-1].partition("&")[0] == label
        and all(part in probe.target for part in parts)
    )


def is_link(target: str) -> Callable[[Probe], bool]:
    return lambda probe: probe.target == f"/{target}"


def is_file(probe: Probe) -> bool:
    return probe.target.startswith(f"{BASE}/col/") and "/doc/" in probe.target


def elsewhere(target: str) -> Spoil:
    return answer_with(is_link(target), 302, location="http://arq.lab.br/elsewhere")


def silent(target: str) -> Spoil:
    return answer_with(is_link(target), 404, b"<p>not found", "text/html")


PLATFORM = b"ibi.platformsoftware {}"
INVENTED = (
    b"url.translation(wa) http://x.org/",
    b"contenttype.translation(wa) Data",
    b"state.translation(wa) Original",
    b"timestamp.translation(wa) 2014-01-02T17:23:57Z",
    b"urlkey 1234567890",
)


def archive_service(rep: str, ibip: str) -> bytes:
    return f"ibi.archiveservice {{rep {rep} ibip {ibip}".encode()


def platform(words: str) -> Spoil:
    """An Archive whose software has that label: it is in every answer, and nothing hangs on it."""
    return swap(PLATFORM, f"ibi.platformsoftware {{{words}}}".encode())


OWN_FORMS = (OWN, str(SERVICE.ibip))
UNKNOWN = "example.org/ibi-check/1996/02.29.12.34.56"
CONFIRMED = "inclusionConfirmationRequest"
ITEM_URL = f"{BASE}/col/{REP}/doc/a.txt"
SECOND_URL = f"{BASE}/col/{SECOND[0]}/doc/a.txt"

ARCHIVE = [
    Mutant("inclusion-is-confirmed", swap(b"yes", b"no", OWN, CONFIRMED)),
    Mutant("inclusion-is-confirmed", swap(b"yes", b"maybe", OWN, CONFIRMED)),
    Mutant("subjects-are-told-apart", answer_with(has("noSuchSubject"), 200, b"confirmation yes")),
    Mutant("pairs-come-in-any-order", answer_with(has(f"{OWN}?parsedibiurl.ibi="))),
    Mutant(
        "messages-are-sent-with-get-only",
        spoil_answer(
            lambda _, received: replace(received, status=200, body=b"confirmation yes"),
            lambda probe: probe.method == "POST" and OWN in probe.target,
        ),
    ),
    Mutant(
        "an-item-is-found",
        swap(f"ibi {{rep {REP} ibip {IBIP}}}".encode(), f"ibi {{rep {GONE[0]} ibip {GONE[1]}}}".encode()),
        also=("both-forms-lead-to-one-place",),
    ),
    Mutant("values-are-decoded", answer_with(has(REP.replace("/", "%2F")))),
    Mutant("foreign-pairs-are-ignored", answer_with(has("xservicesubject"))),
    Mutant("nothing-is-said-of-unknown-labels", answer_with(asks(UNKNOWN), 200, b"error {no such item}")),
    Mutant("nothing-is-said-of-unknown-labels", answer_with(asks(UNKNOWN), 404)),
    Mutant("the-service-is-an-item", answer_with(asks(OWN))),
    Mutant(
        "the-service-is-an-original",
        spoil_body(lambda body: body.replace(b"state Original", b"state Copy"), f"parsedibiurl.ibi={OWN}"),
    ),
    Mutant(
        "answers-name-the-archive",
        swap(archive_service(*OWN_FORMS), archive_service(*GONE)),
    ),
    Mutant(
        "both-forms-are-one-item",
        spoil_answer(
            lambda _, received: replace(received, body=received.body.replace(b"state Original", b"state Copy")),
            lambda probe: f"parsedibiurl.ibi={IBIP}".lower() in probe.target.lower(),
        ),
    ),
    Mutant(
        "an-item-is-original-or-copy",
        spoil_body(
            lambda body: body.replace(b"state Original", b"state Deleted") if REP.encode() in body else body, "ibi="
        ),
    ),
    Mutant("repository-names-ignore-case", answer_with(lambda probe: "parsedibiurl.ibi=LAB.BR" in probe.target)),
    Mutant("ibips-ignore-case", answer_with(lambda probe: "parsedibiurl.ibi=8jmkd" in probe.target)),
    Mutant(
        "what-is-asked-about-is-obligatory",
        answer_with(
            lambda probe: "urlRequest" in probe.target and "parsedibiurl.ibi" not in probe.target,
            body=b"url http://x.org/",
        ),
    ),
    Mutant("lists-of-addresses-are-read", answer_with(has("%20198.51.100.7"))),
    Mutant(
        "the-url-leads-to-the-item",
        answer_with(lambda probe: probe.target == ITEM_URL, 404),
        also=("what-it-leads-to-is-there",),
    ),
    Mutant(
        "the-url-leads-to-the-item",
        spoil_answer(
            lambda _, received: replace(received, status=0, body=b"", failure="Connection refused"),
            is_file,
        ),
    ),
    Mutant(
        "keys-are-fresh",
        spoil_body(
            lambda body: body[: body.index(b"urlkey")] + b"urlkey 1234567890" if b"urlkey" in body else body,
            "urlRequest",
        ),
        judgment=Judgment.WARNING,
    ),
    Mutant(
        "deleted-items-are-said-to-be", spoil_body(lambda body: body + b"\r\nurlkey 1234567890-1234567890", GONE[0])
    ),
    Mutant("deleted-items-are-said-to-be", drop_pairs(b"timestamp", GONE[0])),
    Mutant("acknowledgments-are-received", answer_with(has("acknowledgment", "&ibi="), 200, b"notice received")),
    Mutant(
        "acknowledgments-may-lack-what-is-optional",
        answer_with(lambda probe: "?servicesubject=ack" in probe.target and "&ibi=" not in probe.target, 400),
    ),
]
ANSWERS = [
    Mutant(
        "answers-are-plain-text",
        spoil_answer(
            lambda _, received: replace(received, headers=(("content-type", "text/html"),)),
            has(f"parsedibiurl.ibi={SECOND[0]}"),
        ),
    ),
    Mutant(
        "answers-are-plain-text",
        spoil_answer(
            lambda _, received: replace(received, headers=(("content-type", "text/plain; charset=utf-8"),)),
            has("servicesubject=urlRequest"),
        ),
        judgment=Judgment.WARNING,
    ),
    Mutant("answers-are-lists-of-pairs", spoil_body(lambda body: body + b"\r\nnote {a  b}", "urlRequest")),
    Mutant("answers-are-lists-of-pairs", spoil_body(lambda body: body + b"\r\nnote \xe9", "urlRequest")),
    Mutant("pairs-are-joined-by-one-separator", swap(b"\r\n", b"\n")),
    Mutant("pairs-are-joined-by-one-separator", spoil_body(lambda body: body + b"\r\n", "urlRequest")),
    Mutant("pairs-are-joined-by-one-separator", swap(b"\r\n", b"\r\n\r\n")),
    Mutant("names-come-once", swap(PLATFORM, PLATFORM + b"\r\n" + PLATFORM)),
    Mutant("the-archive-is-named", drop_pairs(b"ibi.platformsoftware", f"ibi={SECOND[0]}")),
    Mutant("a-url-has-type-state-and-time", drop_pairs(b"timestamp ", f"ibi={SECOND[0]}")),
    Mutant("a-url-has-type-state-and-time", drop_pairs(b"url ", f"ibi={SECOND[0]}")),
    Mutant("a-url-has-a-key", drop_pairs(b"urlkey", f"ibi={SECOND[0]}")),
    Mutant("addresses-and-types-are-of-their-domains", swap(b"archiveaddress arq", b"archiveaddress http://arq")),
    Mutant("addresses-and-types-are-of-their-domains", swap(b" Data", b" Text")),
    Mutant("states-are-of-their-domain", swap(b"Original", b"original"), also=("the-service-is-an-original",)),
    Mutant("time-stamps-are-of-iso-8601", swap(b"2014-01-02T17:23:57Z", b"2014:01.02.17.23.57")),
    Mutant("time-stamps-are-of-iso-8601", swap(b"2014-01-02T17:23:57Z", b"2014-02-30T17:23:57Z")),
    Mutant("keys-are-numbers", swap(b"urlkey 1", b"urlkey x")),
    Mutant("urls-are-urls", swap(b"doc/a.txt", b"doc/a%zz.txt", f"ibi={THIRD[0]}")),
    Mutant("forms-of-labels-are-named", platform("ibip 8JMKD3MGP8W/35MMLL8 rep lab.br/arq/2009/07.21.14.43")),
    Mutant("qualifiers-are-relations", swap(PLATFORM, PLATFORM + b"\r\nstate.previousedition Original")),
    Mutant("qualifiers-are-relations", swap(PLATFORM, PLATFORM + b"\r\nlanguage pt"), judgment=Judgment.WARNING),
    Mutant(
        "qualifiers-are-relations",
        swap(PLATFORM, PLATFORM + b"\r\nstate.translation(tup) Original"),
        judgment=Judgment.WARNING,
    ),
    Mutant("repository-names-are-of-the-grammar", platform("rep lab.br/arq/2009/7.21.14.43")),
    Mutant("dates-of-repository-names-exist", platform("rep lab.br/arq/2013/02.30.00.00")),
    Mutant(
        "repository-names-are-in-lower-case", platform("rep Lab.br/arq/2013/02.20.00.00"), judgment=Judgment.WARNING
    ),
    Mutant("ibips-are-of-the-grammar", platform("ibip 8JMKD3MGP8W/35MML01")),
    Mutant("prefixes-of-ibips-are-addresses", platform("ibip LLLLW/35MMLL8")),
    Mutant("suffixes-of-ibips-are-dates", platform("ibip 8JMKD3MGP8W/235MMLL8")),
    Mutant("both-forms-are-of-one-instant", platform("rep lab.br/arq/2009/07.21.14.43 ibip 8JMKD3MGP8W/35MMLL9")),
]
LAST = "GetLastEdition"
RELATIONS = [
    Mutant(
        "the-last-edition-is-offered",
        drop_names(b"edition", f"ibi={REP}&"),
        also=("metadata-of-the-last-edition-are-offered", "the-only-edition-is-the-last"),
    ),
    Mutant(
        "the-only-edition-is-the-last",
        swap(
            f"ibi.lastedition {{rep {SECOND[0]} ibip {SECOND[1]}".encode(),
            f"ibi.lastedition {{rep {GONE[0]} ibip {GONE[1]}".encode(),
        ),
    ),
    Mutant("the-only-edition-is-the-last", drop_pairs(b"ibi.lastedition ")),
    Mutant(
        "the-only-edition-has-the-same-url",
        swap(b"url.lastedition http://arq.lab.br/", b"url.lastedition http://arq.lab.br/other/"),
    ),
    Mutant(
        "editions-lead-to-the-last",
        swap(f"{SECOND[0]} ibip {SECOND[1]}".encode(), f"{REP} ibip {IBIP}".encode(), f"ibi={REP}&", LAST),
    ),
    Mutant("metadata-is-offered", drop_names(b".metadata", f"ibi={REP}&parsedibiurl.verblist=GetMetadata|")),
    Mutant("metadata-in-oai-dc-is-offered", drop_names(b".metadata", "GetMetadata(oai_dc)")),
    Mutant(
        "metadata-of-the-last-edition-are-offered",
        swap(b"url.lastedition.metadata http://arq.lab.br/", b"url.lastedition.metadata http://arq.lab.br/other/"),
    ),
    Mutant("verbs-are-joined-by-plus-or-blank", answer_with(has("GetLastEdition+GetMetadata", "urlRequest"))),
    Mutant("translations-are-listed", drop_names(b"translation", "GetTranslation(en)")),
    Mutant(
        "absent-translations-are-not-invented",
        swap(PLATFORM, b"\r\n".join((PLATFORM, *INVENTED)), "GetTranslation(wa)"),
    ),
    Mutant(
        "single-files-are-found",
        answer_with(has("filepath=/ibi-check", f"ibi={REP}", "urlRequest"), body=f"url {ITEM_URL}".encode()),
        also=(
            "the-archive-is-named",
            "a-url-has-type-state-and-time",
            "a-url-has-a-key",
            "the-list-of-files-wins-over-a-path",
        ),
    ),
    Mutant("single-files-are-found", swap(b"doc/a.txt", b"doc/b.txt", "filepath=/a.txt")),
    Mutant(
        "the-list-of-files-is-found",
        spoil_body(
            lambda body: b"\r\n".join(
                b"url " + ITEM_URL.encode() if line.startswith(b"url ") else line for line in body.split(b"\r\n")
            ),
            "GetFileList",
        ),
    ),
    Mutant(
        "the-list-of-files-wins-over-a-path",
        spoil_body(
            lambda body: b"\r\n".join(
                b"url " + ITEM_URL.encode() if line.startswith(b"url ") else line for line in body.split(b"\r\n")
            ),
            "GetFileList",
            "filepath",
        ),
    ),
]
LINKS = [
    Mutant(
        "a-link-leads-somewhere",
        spoil_answer(
            lambda _, received: replace(received, headers=(("location", received.location.removeprefix(BASE)),)),
            lambda probe: probe.target.lower().startswith(("/lab.br/", "/8jmk")) and "service" not in probe.target,
        ),
        also=("originals-can-be-demanded", "links-lead-to-translations"),
    ),
    Mutant(
        "what-it-leads-to-is-there",
        answer_with(lambda probe: probe.target == ITEM_URL, 500),
        also=("the-url-leads-to-the-item",),
    ),
    Mutant(
        "both-forms-lead-to-one-place",
        answer_with(
            lambda probe: probe.target.lower() == f"/{IBIP}".lower(), 302, location="http://arq.lab.br/elsewhere"
        ),
    ),
    Mutant("links-with-repository-names-ignore-case", silent(REP.upper())),
    Mutant("links-with-ibips-ignore-case", silent(IBIP.lower())),
    Mutant("unknown-labels-get-an-alert", elsewhere(UNKNOWN)),
    Mutant("unknown-labels-get-an-alert", answer_with(is_link(UNKNOWN), 404)),
    Mutant("links-outside-the-grammar-get-an-alert", elsewhere(f"{REP}:!")),
    Mutant("codes-of-languages-are-checked", elsewhere(f"{REP}+(xq)")),
    Mutant("foreign-pairs-do-not-disturb", elsewhere(f"{REP}?x-ibi-check=1")),
    Mutant("originals-can-be-demanded", silent(f"{REP}?ibiurl.requireditemstatus=Original")),
    Mutant(
        "messages-to-the-resolver-are-sent-with-get-only",
        answer_with(lambda probe: probe.method == "POST" and RESOLVER_SERVICE in probe.target),
    ),
    Mutant(
        "subjects-of-archives-are-no-services-of-the-resolver",
        answer_with(lambda probe: RESOLVER_SERVICE in probe.target and probe.method == "GET", 200, b"confirmation yes"),
    ),
    Mutant("all-modifiers-are-understood", answer_with(is_link(f"{REP}+!:+"), 500)),
    Mutant("links-lead-to-metadata", answer_with(is_link(f"{REP}:(oai_dc)"), 302, location=ITEM_URL)),
    Mutant("links-lead-to-translations", answer_with(is_link(f"{SECOND[0]}+"), 302, location=SECOND_URL)),
    Mutant("links-lead-to-translations", elsewhere(f"{SECOND[0]}+(wa)")),
    Mutant(
        "links-lead-to-the-last-edition",
        answer_with(is_link(f"{REP}!"), 302, location=ITEM_URL),
        also=("each-verb-has-its-synonym",),
    ),
    Mutant("verbs-are-modifiers", elsewhere(f"{REP}?ibiurl.verblist=GetLastEdition+GetMetadata(oai_dc)")),
    Mutant("verbs-in-links-are-joined-by-plus-or-blank", silent(f"{REP}?ibiurl.verblist=GetLastEdition%20GetMetadata")),
    Mutant("each-verb-has-its-synonym", elsewhere(f"{REP}?ibiurl.verblist=GetLastEdition")),
    Mutant("modifier-and-verbs-are-united", elsewhere(f"{REP}!?ibiurl.verblist=GetMetadata")),
    Mutant(
        "links-lead-to-the-list-of-files",
        answer_with(is_link(f"{REP}?ibiurl.verblist=GetFileList"), 302, location=ITEM_URL),
    ),
    Mutant("links-lead-to-single-files", elsewhere(f"{REP}/ibi-check-no-such-file.txt")),
    Mutant("links-lead-to-single-files", elsewhere(f"{REP}/a.txt")),
]


@pytest.fixture(scope="module")
def ours() -> Iterator[Remembered]:
    process = InProcess()
    yield Remembered(process)
    process.close()


def test_ours_passes_all_checks_of_archives_and_links(ours: Remembered) -> None:
    run = run_checks(ours)
    assert run.reasons(Judgment.FAIL, Judgment.WARNING) == {}
    others = {check.name for check in ALL_CHECKS if "membership_checks" in check.steps.__module__}
    assert run.named(Judgment.NOT_APPLICABLE) == others


@pytest.mark.parametrize("mutant", [*ARCHIVE, *ANSWERS, *RELATIONS, *LINKS], ids=lambda mutant: mutant.check)
def test_a_spoiled_answer_fails_its_clause_alone(ours: Remembered, mutant: Mutant) -> None:
    run = run_checks(ours, mutant.spoil)
    if mutant.judgment is Judgment.WARNING:
        assert set(run.reasons(Judgment.FAIL, Judgment.WARNING)) == {mutant.check}, run.reasons(Judgment.FAIL)
    assert set(run.reasons(mutant.judgment)) == {mutant.check, *mutant.also}, run.reasons(Judgment.FAIL)


RENAMED = {
    "archiveaddress": {"the-archive-is-named"},
    "contenttype": {"a-url-has-type-state-and-time"},
    "ibi": {"an-item-is-found", "deleted-items-are-said-to-be"},
    "ibi.archiveservice": {"the-archive-is-named"},
    "ibi.platformsoftware": {"the-archive-is-named", "answers-are-lists-of-pairs"},
    "ibi.lastedition": {"the-only-edition-is-the-last"},
    "ibi.nextedition": {"the-only-edition-is-the-last"},
    "state": {"a-url-has-type-state-and-time"},
    "timestamp": {"a-url-has-type-state-and-time", "deleted-items-are-said-to-be"},
    "url": {"a-url-has-type-state-and-time"},
    "url.lastedition": {"a-url-has-type-state-and-time"},
    "url.metadata": {"a-url-has-type-state-and-time", "metadata-is-offered"},
    "urlkey": {"a-url-has-a-key"},
}
"""What fails if an Archive calls a pair by another name, which is an unknown one: that is a warning in any case."""


@pytest.mark.parametrize("name", RENAMED)
def test_a_renamed_pair_fails_the_clause_that_it_breaks(ours: Remembered, name: str) -> None:
    def rename(body: bytes) -> bytes:
        lines = body.split(b"\r\n")
        return b"\r\n".join(b"x" + line if line.startswith(f"{name} ".encode()) else line for line in lines)

    run = run_checks(ours, spoil_body(rename, "urlRequest"))
    assert set(run.reasons(Judgment.FAIL)) == RENAMED[name], run.reasons(Judgment.FAIL)
    assert "qualifiers-are-relations" in run.reasons(Judgment.WARNING)


OTHER_NAMES = {
    "ibi.archiveservice": ("ibi.service", {"the-archive-is-named"}),
    "ibi.platformsoftware": ("ibi.software", {"the-archive-is-named", "answers-are-lists-of-pairs"}),
    "ibi.lastedition": ("ibi.latest", {"the-only-edition-is-the-last"}),
    "ibi.nextedition": ("ibi.next", {"the-only-edition-is-the-last"}),
    "url.metadata": ("url.meta", {"a-url-has-type-state-and-time", "metadata-is-offered"}),
    "state": ("status", {"a-url-has-type-state-and-time"}),
}


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_a_pair_of_a_name_alike_fails_the_clause_that_it_breaks(ours: Remembered, name: str) -> None:
    other, broken = OTHER_NAMES[name]

    def rename(body: bytes) -> bytes:
        lines = (line.partition(b" ") for line in body.split(b"\r\n"))
        return b"\r\n".join(
            (other.encode() if first == name.encode() else first) + blank + rest for first, blank, rest in lines
        )

    run = run_checks(ours, spoil_body(rename, "urlRequest"))
    assert set(run.reasons(Judgment.FAIL)) == broken, run.reasons(Judgment.FAIL)
    assert "qualifiers-are-relations" in run.reasons(Judgment.WARNING)


def test_an_octet_that_no_word_has_fails_the_grammar_alone(ours: Remembered) -> None:
    def spoil(body: bytes) -> bytes:
        return re.sub(rb"(?m)^(timestamp\S* \S+)Z", lambda found: found[1] + b"\xf3Z", body)

    run = run_checks(ours, spoil_body(spoil, "urlRequest"))
    assert set(run.reasons(Judgment.FAIL)) == {"answers-are-lists-of-pairs"}, run.reasons(Judgment.FAIL)


def test_one_item_that_cannot_be_fetched_is_a_warning(ours: Remembered) -> None:
    def refuse(probe: Probe, received: ProbeResponse) -> ProbeResponse:
        is_first = probe.target == ITEM_URL
        return replace(received, status=0, body=b"", failure="Connection refused") if is_first else received

    run = run_checks(ours, refuse)
    assert run.reasons(Judgment.FAIL) == {}
    assert "the-url-leads-to-the-item" in run.reasons(Judgment.WARNING)


def test_addresses_that_the_checker_does_not_dial_are_no_fault_of_the_archive(ours: Remembered) -> None:
    def refuse(probe: Probe, received: ProbeResponse) -> ProbeResponse:
        failure = f"{NOT_DIALLED}: its address is one that is not dialled"
        return replace(received, status=0, body=b"", failure=failure) if is_file(probe) else received

    assert run_checks(ours, refuse).reasons(Judgment.FAIL) == {}


# --- the resolver, watched by an Archive that the checker is ---------------------------------------------------------


@dataclass(frozen=True)
class Watched:
    send: Send
    member: MemberIdentity

    @property
    def archive(self) -> ProbeArchive:
        return ProbeArchive(self.member.service, self.member.address)


@pytest.fixture(scope="module")
def watched() -> Iterator[Watched]:
    with member_of_a_resolver() as (send, member):
        yield Watched(Remembered(send), member)


def run_member(watched: Watched, spoil: Spoil | None = None) -> dict[str, str]:
    """What fails."""
    run = run_checks(watched.send, spoil, labels=(), service=None, member=watched.member)
    return dict(run.reasons(Judgment.FAIL))


def test_our_resolver_passes_all_checks_of_membership(watched: Watched) -> None:
    run = run_checks(watched.send, labels=(), service=None, member=watched.member)
    assert run.reasons(Judgment.FAIL) == {}
    members = {check.name for check in ALL_CHECKS if "membership_checks" in check.steps.__module__}
    assert members <= run.named(Judgment.PASS) | run.named(Judgment.WARNING)


def heard(change: Callable[[HeardRequest], HeardRequest | None], subject: str, part: str = "") -> Spoil:
    """Change what the Archive of the checker heard, or leave it out."""

    def spoil(probe: Probe, received: ProbeResponse) -> ProbeResponse:
        if part not in probe.target:
            return received
        changed = [change(each) if each.subject == subject else each for each in received.heard]
        return replace(received, heard=tuple(each for each in changed if each is not None))

    return spoil


def query(old: str, new: str) -> Callable[[HeardRequest], HeardRequest]:
    return lambda each: replace(each, query=each.query.replace(old, new))


def reader(address: str) -> Callable[[HeardRequest], HeardRequest]:
    """The reader is said to have that address."""
    return lambda each: replace(each, query=re.sub("(?<=ipaddress=)[^&]*", address, each.query))


def as_utf_8(each: HeardRequest) -> HeardRequest:
    """As a resolver does that takes all octets for ISO 8859-1, and writes UTF-8."""
    return replace(each, query=re.sub("%f3", "%C3%B3", each.query, flags=re.IGNORECASE))


def told(subject: str, body: bytes, *parts: str) -> Spoil:
    return answer_with(has(RESOLVER_SERVICE, f"servicesubject={subject}", *parts), 200, body)


INCLUDED = b"status.archive included status.confirmation successful"
FIRST, LATER, DELETED = (f"{MEMBER.rsplit('/', 2)[0]}/1996/02.03.04.0{minute}" for minute in (1, 2, 3))
MEMBERSHIP = [
    Mutant("a-wrong-key-includes-no-one", told("inclusionRequest", INCLUDED, "=99999999999")),
    Mutant(
        "all-pairs-are-obligatory",
        answer_with(
            lambda probe: "inclusionRequest" in probe.target and "archiveprotocol" not in probe.target, 200, INCLUDED
        ),
    ),
    Mutant(
        "the-right-key-includes",
        told("inclusionRequest", b"status.archive included", "registrationkey=1234567890", "archiveprotocol", MEMBER),
    ),
    Mutant("inclusion-asks-back", heard(lambda _: None, CONFIRMED)),
    Mutant(
        "confirmation-is-asked-with-one-pair", heard(lambda each: replace(each, query=f"{each.query}&x=1"), CONFIRMED)
    ),
    Mutant("an-included-archive-is-asked", heard(lambda each: replace(each, path="/elsewhere"), "urlRequest")),
    Mutant("the-resolver-asks-with-get", heard(lambda each: replace(each, method="POST"), "urlRequest")),
    Mutant(
        "a-url-request-has-its-pairs",
        heard(query("clientinformation.ipaddress", "clientip"), "urlRequest"),
        also=("addresses-of-users-are-passed-on",),
    ),
    Mutant(
        "a-url-request-has-its-pairs",
        heard(lambda each: replace(each, query=f"{each.query}&parsedibiurl.ibi=x"), "urlRequest"),
    ),
    Mutant("addresses-of-users-are-passed-on", heard(query("ipaddress=", "ipaddress=unknown%20"), "urlRequest")),
    Mutant(
        "languages-are-not-passed-on",
        heard(
            lambda each: replace(each, query=f"{each.query}&clientinformation.languagepreference=pt"),
            "urlRequest",
            f"{LATER}+",
        ),
    ),
    Mutant(
        "demands-for-originals-are-not-passed-on",
        heard(
            lambda each: replace(each, query=f"{each.query}&parsedibiurl.requireditemstatus=Original"),
            "urlRequest",
            "requireditemstatus",
        ),
    ),
    *(
        Mutant("the-readers-own-address-is-told", heard(reader(address), subject))
        for subject in ("urlRequest", "acknowledgment")
        for address in ("0.0.0.0", "150.163.2.0", "203.0.113.9", "::", "2001:db8::1%20127.0.0.1")
    ),
    Mutant("octets-of-a-path-are-passed-on", heard(as_utf_8, "urlRequest", "Relat")),
    Mutant("octets-of-a-path-are-passed-on", heard(query("Final", "final"), "urlRequest", "Relat")),
    Mutant("values-are-encoded", heard(query("%20", "+"), "urlRequest", "dados")),
    Mutant("the-browser-is-sent-to-the-url", elsewhere(FIRST)),
    Mutant("the-archive-is-thanked", heard(lambda _: None, "acknowledgment")),
    Mutant("an-acknowledgment-has-its-pairs", heard(query("state=Original", "state=Copy"), "acknowledgment")),
    Mutant("an-acknowledgment-has-its-pairs", heard(query("contenttype=", "type="), "acknowledgment")),
    Mutant("keys-come-back", heard(query("urlkey=1700000000", "urlkey=1800000000"), "acknowledgment")),
    Mutant(
        "an-acknowledgment-tells-the-link",
        heard(query(FIRST, LATER), "acknowledgment"),
        also=("an-acknowledgment-has-its-pairs",),
    ),
    Mutant(
        "modifiers-are-passed-on-as-verbs",
        heard(query("GetTranslation", "GetMetadata"), "urlRequest", "verblist=GetMetadata"),
    ),
    Mutant("next-editions-are-followed", answer_with(is_link(f"{FIRST}!:(oai_dc)"), 404, b"<p>not found", "text/html")),
    Mutant("whole-answers-are-taken", elsewhere(f"{FIRST}:")),
    Mutant("translations-are-chosen", answer_with(is_link(f"{LATER}+"), 302, location="http://x.org/")),
    Mutant("deleted-items-get-an-alert", elsewhere(DELETED)),
    Mutant("exclusion-is-confirmed", told("exclusionRequest", b"status.archive included")),
    Mutant(
        "an-excluded-archive-is-not-asked",
        spoil_answer(
            lambda _, received: replace(
                received, heard=(HeardRequest("GET", f"/{MEMBER}", "servicesubject=urlRequest"),)
            ),
            lambda probe: probe.target == f"/{LATER}",
        ),
    ),
]


@pytest.mark.parametrize("mutant", MEMBERSHIP, ids=lambda mutant: mutant.check)
def test_a_resolver_that_errs_fails_its_clause_alone(watched: Watched, mutant: Mutant) -> None:
    failed = run_member(watched, mutant.spoil)
    assert set(failed) == {mutant.check, *mutant.also}, failed


# --- the list itself -------------------------------------------------------------------------------------------------

MUTANTS = [*ARCHIVE, *ANSWERS, *RELATIONS, *LINKS, *MEMBERSHIP]


def test_every_check_has_a_mutant_that_it_finds() -> None:
    assert {check.name for check in ALL_CHECKS} == {mutant.check for mutant in MUTANTS}
    assert len(MUTANTS) >= 60


def test_every_check_is_of_a_clause_of_the_coverage_table() -> None:
    clauses = {
        row["Clause"] for row in rows(ROOT / "docs/spec/coverage.md", ["Clause", "What", "Implemented in", "Tested in"])
    }
    assert {check.clause for check in ALL_CHECKS} <= clauses


def test_names_of_checks_are_of_one_check_each() -> None:
    names = [check.name for check in ALL_CHECKS]
    assert len(names) == len(set(names))
    assert all(check.sentence.endswith(".") for check in ALL_CHECKS)
