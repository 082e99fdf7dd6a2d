"""An answer is used only if it is about the IBI asked, its Archive's own, and its URL on a declared host."""

from __future__ import annotations

import pytest

from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.rules.outcome import Missing, NoArchiveAnswered, Redirect, RelatedItemMissing
from ibi.resolver.rules.policy import (
    RULES,
    ArchiveClaim,
    Policy,
    broken_rule,
    has_bearable_length,
    is_about_the_item,
    is_on_a_declared_host,
    speaks_for_itself,
)
from ibi.standard.label import parse
from ibi.standard.messages import LabelForms, parse_url_list
from ibi.standard.pairs import Pairs
from tests.foreign.archive import ibip_of
from tests.support.scripted_archives import archive, body, drive, resolution, resolve

LABEL, IBIP = "sid.inpe.br/mtc-m19/2013/09.04.12.27.57", "8JMKD3MGP7W/3EPGUE5"
ONE, OTHER = archive("one"), archive("other")


def found(of: ArchiveRef, ibi: str = f"rep {LABEL}", url: str = "http://one.example.org/x") -> bytes:
    return body(of, ibi, state="Original", contenttype="Data", url=url, urlkey="1234567890")


def claim(text: bytes, asked: str = LABEL, who: ArchiveRef = ONE) -> ArchiveClaim:
    answer = parse_url_list(Pairs.decode(text))
    assert answer is not None
    return ArchiveClaim(who, parse(asked), answer, getattr(answer, "entries")[0].url)  # noqa: B009


@pytest.mark.parametrize("ibi", [f"rep {LABEL}", f"ibip {IBIP}", f"rep {LABEL} ibip {IBIP}"])
@pytest.mark.parametrize("asked", [LABEL, IBIP])
def test_either_form_of_the_same_instant_is_about_the_item(ibi: str, asked: str) -> None:
    """E29."""
    assert broken_rule(claim(found(ONE, ibi), asked)) is None


@pytest.mark.parametrize("ibi", ["rep sid.inpe.br/mtc-m18/2013/09.04.12.27.57", "ibip 8JMKD3MGP7W/385N5PE"])
def test_another_item_is_not(ibi: str) -> None:
    assert broken_rule(claim(found(ONE, ibi))) is is_about_the_item


M18 = "sid.inpe.br/mtc-m18{}/2008/03.17.15.17"


@pytest.mark.parametrize("named", ["", "@80", ".80"])
@pytest.mark.parametrize("registered", ["", "@80", ".80"])
def test_the_port_80_written_or_not_names_the_same_service(registered: str, named: str) -> None:
    """E52, as the same prefix (E65)."""
    who = ArchiveRef(LabelForms.of(parse(M18.format(registered))), "one.example.org")
    says = ArchiveRef(LabelForms.of(parse(M18.format(named))), "one.example.org")
    assert broken_rule(claim(found(says), who=who)) is None


@pytest.mark.parametrize(
    "other",
    [
        M18.format("@81"),
        M18.format("@800"),
        M18.format("").replace("m18", "m19"),
        M18.format("@80").replace("15.17", "15.18"),
        "8JMKD3MGP8W/35MMLL8",
    ],
)
def test_another_port_host_or_date_names_another_service(other: str) -> None:
    who = ArchiveRef(LabelForms.of(parse(M18.format("@80"))), "one.example.org")
    says = ArchiveRef(LabelForms.of(parse(other)), "one.example.org")
    assert broken_rule(claim(found(says), who=who)) is speaks_for_itself


_IBIP = ibip_of(M18.format(""))


@pytest.mark.parametrize("registered", [(M18.format("@80"), _IBIP), (M18.format("@80"),), (_IBIP,)], ids=len)
@pytest.mark.parametrize(
    ("named", "in_common_with"),
    [
        ((M18.format("@81"),), "rep"),
        (("evil.org/x/2008/03.17.15.17",), "rep"),
        ((ibip_of("evil.org/x/2008/03.17.15.17"),), "ibip"),
        ((M18.format(""), ibip_of("evil.org/x/2008/03.17.15.17")), "ibip"),
        (("evil.org/x/2008/03.17.15.17", _IBIP), "rep"),
    ],
)
def test_the_instant_tells_only_where_no_form_is_known_of_both(
    registered: tuple[str, ...], named: tuple[str, ...], in_common_with: str
) -> None:
    """E52: who registers both forms does not become able to speak for more services."""
    who = ArchiveRef(LabelForms.of(*map(parse, registered)), "one.example.org")
    says = ArchiveRef(LabelForms.of(*map(parse, named)), "one.example.org")
    is_known = any(parse(text).form == in_common_with for text in registered)
    assert (broken_rule(claim(found(says), who=who)) is speaks_for_itself) == is_known


@pytest.mark.parametrize("named", [(M18.format(""),), (_IBIP,), (M18.format(".80"), _IBIP)], ids=len)
def test_a_service_of_two_forms_is_named_by_either(named: tuple[str, ...]) -> None:
    who = ArchiveRef(LabelForms.of(parse(M18.format("@80")), parse(_IBIP)), "one.example.org")
    says = ArchiveRef(LabelForms.of(*map(parse, named)), "one.example.org")
    assert broken_rule(claim(found(says), who=who)) is None


def test_no_archive_speaks_for_another() -> None:
    assert broken_rule(claim(found(OTHER))) is speaks_for_itself


@pytest.mark.parametrize(
    ("url", "is_believed"),
    [
        ("http://one.example.org/x", True),
        ("https://ONE.example.org:8443/x", True),
        ("http://one.example.org?x", True),
        ("http://files.example.net/x", True),
        ("http://files.example.net:81/x", True),
        ("http://port.example.net:8080/x", True),
        ("http://port.example.net/x", False),
        ("http://example.org/x", False),
        ("http://one.example.org.evil.net/x", False),
        ("http://evil.net/one.example.org", False),
        ("http://evil.net?one.example.org", False),
        ("http://evil.net#@one.example.org", False),
        ("http://[::1]/x", False),
    ],
)
def test_a_url_leads_to_a_declared_host(url: str, is_believed: bool) -> None:
    """E31."""
    one = archive("one", hosts=frozenset({"Files.example.net", "port.example.net:8080"}))
    expected = None if is_believed else is_on_a_declared_host
    assert broken_rule(claim(found(one, url=url), who=one)) is expected


def test_a_url_longer_than_headers_are_is_refused() -> None:
    assert broken_rule(claim(found(ONE, url="http://one.example.org/" + "x" * 9000))) is has_bearable_length


@pytest.mark.parametrize(
    "url",
    [
        "ftp://one.example.org/x",
        "javascript:alert(1)",
        "//one.example.org/x",
        "http://user@one.example.org/x",
        "http://one.example.org@evil.net/x",
        r"http://evil.net\@one.example.org/x",
        "http://127.1/x",
    ],
)
def test_what_no_browser_should_follow_cannot_even_be_read(url: str) -> None:
    assert claim(found(ONE, url=url)).url is None


def test_an_answer_that_breaks_a_rule_is_as_good_as_none_and_the_trace_names_the_rule() -> None:
    under_way = resolution(LABEL, (ONE,))
    outcome, _ = drive(under_way, {ONE: lambda _: found(ONE, "rep sid.inpe.br/mtc-m18/2013/09.04.12.27.57")})
    assert isinstance(outcome, NoArchiveAnswered)
    assert under_way.trace.hops[0].reports[0].broken_rule == "is_about_the_item"


def test_a_url_that_breaks_a_rule_is_not_followed_and_the_outcome_says_so() -> None:
    under_way = resolution(LABEL, (ONE,))
    outcome, _ = drive(under_way, {ONE: lambda _: found(ONE, url="http://evil.net/x")})
    assert isinstance(outcome, RelatedItemMissing)
    assert outcome.missing is Missing.BELIEVABLE_URL
    assert under_way.trace.hops[0].reports[0].broken_rule == "is_on_a_declared_host"


def test_a_rule_can_be_switched_off() -> None:
    policy = Policy(rules=tuple(rule for rule in RULES if rule is not is_on_a_declared_host))
    outcome = resolve(LABEL, {ONE: lambda _: found(ONE, url="http://evil.net/x")}, policy=policy)
    assert isinstance(outcome, Redirect)
