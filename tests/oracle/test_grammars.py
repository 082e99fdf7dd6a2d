"""Our parsers and the standards' grammars agree, but for the differences that are listed.

On texts that the grammars derive, on labels and messages as they are in use, on both when something in them is spoilt,
and on anything else.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ibi
from ibi import Ibip, RepositoryName
from ibi.standard.errors import InvalidInput
from ibi.standard.messages import LabelForms, RegistrationKey, ip_addresses
from ibi.standard.pairs import Pairs
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.relation import Relation, VerbList
from tests.oracle.differences import BASE, LOOSER, STRICTER, is_derived_by_a_false_ibip, looser, stricter
from tests.oracle.grammars import Grammar, derived, derives
from tests.properties.label_strategies import (
    addresses,
    ibip_instants,
    ibip_text,
    ibips,
    label_texts,
    mutated,
    ports,
    repository_texts,
)

Reader = Callable[[str], object]


def read_pairs(text: str) -> object:
    return Pairs.decode(text.encode("latin-1"))


def read_qualifier(text: str) -> object:
    return Relation.from_qualifier(text, registered=False)


READERS: dict[str, Reader] = {
    "repository": RepositoryName.parse,
    "IBIp": Ibip.parse,
    "lista-de-pares": read_pairs,
    "chave": RegistrationKey,
    "mdf": Relation.from_modifier,
    "URL-persistente": PersistentUrl.parse,
    "lista-de-verbos": VerbList.parse,
    "lista-de-IP": ip_addresses,
    "formas-de-ibi": LabelForms.parse,
    "relacao": read_qualifier,
}


def is_read(rule: str, text: str) -> bool:
    try:
        READERS[rule](text)
    except InvalidInput:
        return False
    return True


def check(rule: str, text: str) -> None:
    is_derived, was_read = derives(rule, text), is_read(rule, text)
    if was_read and rule == "URL-persistente" and not PersistentUrl.parse(text).label.is_dated:
        return  # E72: a label that no grammar has
    if is_derived and rule == "URL-persistente":
        is_derived = not is_derived_by_a_false_ibip(text)  # E71
    if is_derived:
        reasons = stricter(rule, text)
        assert was_read is (not reasons), f"{text!r} is derived; reasons to refuse it: {[one[:3] for one in reasons]}"
    elif was_read:
        assert looser(rule, text), f"{text!r} is read although {rule} does not derive it"


# --- texts -----------------------------------------------------------------------------------------------------------


@st.composite
def forms(draw: st.DrawFn) -> str:
    """Both forms of one item, or of two, or one of them."""
    instant = draw(ibip_instants)
    rep = str(RepositoryName.from_parts("www.urlib.net", draw(ports), instant))
    other = draw(st.one_of(st.just(instant), ibip_instants))
    ibip = ibip_text(draw(addresses), draw(ports), other)
    return draw(st.sampled_from([f"rep {rep} ibip {ibip}", f"rep {rep}", f"ibip {ibip}", f"ibip {ibip} rep {rep}"]))


labels = st.one_of(
    st.sampled_from(["8JMKD3MGP8W/35MME4E", "LK47B6W/362SFKH", "iconet.com.br/banon/2009/09.09.22.01"]), label_texts
)
modifiers = st.one_of(st.just(""), derived("mdf"), st.sampled_from(["!:(oai_dc)", "+(pt-BR)", ":+", "!+:+", "+!:"]))
paths = st.one_of(
    st.just(""), derived("path-absolute"), st.sampled_from(["/", "/doc", "/a/b.pdf", "/a//b", "/..", "/a/"])
)
queries = st.one_of(
    st.just(""),
    derived("pergunta").map("?{}".format),
    st.sampled_from(
        [
            "?",
            "??",
            "?a=b&c=d",
            "?ibiurl.verblist=GetFileList",
            "?ibiurl.requireditemstatus=Copy",
            "?ibiurl.language=pt&ibiurl.language=pt",
        ]
    ),
)
# Short labels: the oracle takes its time.
urls = st.builds("{}{}{}{}{}".format, st.just(BASE), labels, modifiers, paths, queries)

SAMPLES: dict[str, st.SearchStrategy[str]] = {
    "repository": repository_texts(),
    "IBIp": ibips.map(str),
    "lista-de-pares": st.sampled_from(
        [
            "a1 {a2 a3} a4 a5",
            "a {}",
            "a {b}",
            "a b a c",
            "state Original\r\nurl http://x/\r\n",
            "confirmation yes",
            "notice {acknowledgment received}",
        ]
    ),
    "chave": st.sampled_from(["1234567890", "1234567890-1234567890", "123456789", "1234567890-", "-1234567890"]),
    "mdf": modifiers,
    "URL-persistente": urls,
    "lista-de-verbos": st.lists(derived("verbo"), max_size=4).flatmap(
        lambda verbs: st.sampled_from(["+".join(verbs), " ".join(verbs)])
    ),
    "lista-de-IP": st.lists(addresses, min_size=1, max_size=3).map(" ".join),
    "formas-de-ibi": forms(),
    "relacao": derived("relacao"),
}


@pytest.mark.parametrize("rule", READERS)
@given(data=st.data())
def test_we_agree_with_the_oracle_on_what_the_grammar_derives(rule: str, data: st.DataObject) -> None:
    text = data.draw(derived(rule))
    assert derives(rule, text) or text == ""
    check(rule, text)


@pytest.mark.parametrize("rule", READERS)
@given(data=st.data())
def test_we_agree_with_the_oracle_on_what_is_in_use(rule: str, data: st.DataObject) -> None:
    check(rule, data.draw(SAMPLES[rule]))


def as_latin_1(text: str) -> str:
    """The bytes of a text, one sign each: a list of pairs comes as bytes."""
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass").decode("latin-1")
    return text


@pytest.mark.parametrize("rule", READERS)
@given(data=st.data())
def test_we_agree_with_the_oracle_on_what_is_spoilt(rule: str, data: st.DataObject) -> None:
    text = data.draw(st.one_of(derived(rule), SAMPLES[rule]).flatmap(mutated))
    check(rule, as_latin_1(text) if rule == "lista-de-pares" else text)


@pytest.mark.parametrize("rule", READERS)
@given(text=st.text(max_size=12))
def test_we_agree_with_the_oracle_on_anything(rule: str, text: str) -> None:
    check(rule, as_latin_1(text) if rule == "lista-de-pares" else text)


# --- the fifteen shapes, all of them ---------------------------------------------------------------------------------


def sequences(signs: str, longest: int) -> list[str]:
    found = [""]
    for text in found:
        if len(text) < longest:
            found.extend(text + sign for sign in signs)
    return found


def test_the_modifiers_are_those_that_the_grammar_derives() -> None:
    texts = sequences("!+:", 5)
    ours = {text for text in texts if is_read("mdf", text)}
    assert ours == {text for text in texts if derives("mdf", text)}
    assert len(ours) == 15


def test_the_qualifiers_are_those_that_the_grammar_derives() -> None:
    names = {"!": ".lastedition", "+": ".translation", ":": ".metadata"}
    texts = ["".join(names[sign] for sign in text) for text in sequences("!+:", 5)]
    assert {text for text in texts if is_read("relacao", text)} == {text for text in texts if derives("relacao", text)}


# --- what parts words ------------------------------------------------------------------------------------------------

LISTS = {
    "lista-de-IP": "127.0.0.1{}150.163.34.243",
    "formas-de-ibi": "rep{0}iconet.com.br/banon/2009/09.09.22.01{0}ibip{0}LK47B6W/362SFKH",
    "lista-de-verbos": "GetLastEdition{}GetMetadata",
    "lista-de-pares": "a{}b",
}


@pytest.mark.parametrize("blank", ["\t", "\v", "\f", "\r", "\x1c", "\x85", "\xa0", "\u2003", "\u3000"], ids=ascii)
@pytest.mark.parametrize("rule", LISTS)
def test_only_a_blank_parts_words(rule: str, blank: str) -> None:
    if rule != "lista-de-pares" or blank.isascii():
        assert is_read(rule, LISTS[rule].format(" "))
        check(rule, LISTS[rule].format(blank))


# --- the list of differences -----------------------------------------------------------------------------------------

WITNESSES = {
    "a word of more than 63 characters": f"{'a' * 64}.br/x/2010/08.25.12.38",
    "a host of more than 253 characters": ".".join(["a" * 60] * 5) + "/x/2010/08.25.12.38",
    "a port outside 1–65535 or with a leading zero": "inpe.br/x.080/2010/08.25.12.38",
    "a year outside 1000–9999": "inpe.br/x/10000/08.25.12.38",
    "a date that does not exist": "inpe.br/x/2010/02.30.12.38",
    "a fraction of more than 30 digits": f"inpe.br/x/2010/02.20.12.38.00.{'1' * 31}",
    "a host that reads as an IBIp": "LK47B6W/362SFKH/2010/08.25.12.38",
    "not exactly one W or X in the prefix": "8JMKD3MGP8/34PGRBS",
    "a prefix that decodes to no address": "333W/34PGRBS",
    "a leading 2 in the address": "28JMKD3MGP8W/34PGRBS",
    "a leading 2 in the port": "8JMKD3MGP8W23/34PGRBS",
    "port 800 written out": "8JMKD3MGP8W34K/34PGRBS",
    "a port above 65535": "8JMKD3MGP8W5AS9/34PGRBS",
    "a suffix that no generator makes": "8JMKD3MGP8W/34PGRBSW3W3",
    "no seconds, or a leading 2 in them": "8JMKD3MGP8W/W3",
    "a fraction that is empty or zero": "8JMKD3MGP8W/34PGRBSW2",
    "a fraction that ends in zero": "8JMKD3MGP8W/34PGRBSWC",
    "a date after the year 9999": "8JMKD3MGP8W/UUUUUUUU",
    "a name that is there twice": "a b a c",
    "a key of more than 256 characters": "1" * 257,
    "a language or country that nobody has registered": "+(xx)",
    "verbs in an order outside the grammar of R Table 8.1": "GetMetadata+GetLastEdition",
    "a label that is none": "rep inpe.br/x/2010/02.30.12.38",
    "two labels of different instants": "rep inpe.br/x/2010/02.20.12.38 ibip LK47B6W/362SFKH",
    "a path with . or .., backslash, control characters or empty parts": f"{BASE}LK47B6W/362SFKH/a/../b",
    "an ibiurl. pair that is repeated or means nothing": f"{BASE}LK47B6W/362SFKH?ibiurl.requireditemstatus=Copy",
    "mdf: a language of three letters": "+(tup)",
    "lista-de-verbos: a language of three letters": "GetTranslation(tup)",
    "relacao: a language of three letters": ".translation(tup)",
    "URL-persistente: a language of three letters": f"{BASE}LK47B6W/362SFKH+(tup)",
    "more white space than needed, or nothing else": "a b\r\n",
    "more blanks between verbs than needed": "GetMetadata  GetTranslation",
    "more blanks between addresses than needed": "127.0.0.1  ::1",
    "the two forms the other way round": "ibip LK47B6W/362SFKH rep iconet.com.br/banon/2009/09.09.22.01",
    "more blanks between words than needed": "ibip  LK47B6W/362SFKH",
    "another resolver, or none": "https://example.org/LK47B6W/362SFKH",
    "ibi/, rep/ or ibi: before the label": f"{BASE}ibi/LK47B6W/362SFKH",
    "?? for metadata": f"{BASE}LK47B6W/362SFKH??",
    "a tag after the label": f"{BASE}LK47B6W/362SFKH-TDI",
    "an encoded label or modifier, or signs that RFC 3986 wants encoded": f"{BASE}LK47B6W%2F362SFKH",
    "pairs without =, with two, or empty ones; signs that RFC 3986 wants encoded": f"{BASE}LK47B6W/362SFKH?wsdl",
    "blanks at the end": f"{BASE}LK47B6W/362SFKH ",
    "a fragment": f"{BASE}LK47B6W/362SFKH#a",
}
VARIANTS = {
    ("IBIp", "a fraction of more than 30 digits"): "8JMKD3MGP8W/34PGRBSW" + "2" * 30 + "3",
    ("lista-de-verbos", "a language or country that nobody has registered"): "GetTranslation(pt-XX)",
    ("URL-persistente", "a language or country that nobody has registered"): f"{BASE}LK47B6W/362SFKH+(xx)",
    ("URL-persistente", "a label that is none"): f"{BASE}inpe.br/x/2010/02.30.12.38",
}


@pytest.mark.parametrize("difference", STRICTER, ids=lambda one: f"{one.rule}: {one.matter}")
def test_a_stricter_difference_is_real(difference: tuple[str, str, str, Callable[[str], bool]]) -> None:
    rule, _, matter, holds = difference
    text = VARIANTS.get((rule, matter), WITNESSES[matter])
    assert derives(rule, text)
    assert holds(text)
    assert not is_read(rule, text)


@pytest.mark.parametrize("difference", LOOSER, ids=lambda one: f"{one.rule}: {one.matter}")
def test_a_looser_difference_is_real(difference: tuple[str, str, str, Callable[[str], bool]]) -> None:
    rule, _, matter, holds = difference
    text = WITNESSES.get(f"{rule}: {matter}") or WITNESSES[matter]
    assert not derives(rule, text)
    assert holds(text)
    assert is_read(rule, text)


@pytest.mark.parametrize(
    ("text", "is_false", "was_read"),
    [
        ("a/b/2000/01.01.00.00!0!", True, False),
        ("a/b", True, False),
        ("a/b/2000/01.01.00.00-001/doc", True, True),  # by the tag of E21
        ("a/b/2000/01.01.00.00/.01", False, True),
        ("LK47B6W/362SFKH/2000/01.01.00.00!0!", False, True),
    ],
)
def test_a_derivation_by_an_ibip_that_is_none_does_not_count(text: str, is_false: bool, was_read: bool) -> None:
    assert derives("URL-persistente", BASE + text)
    assert is_derived_by_a_false_ibip(BASE + text) is is_false
    assert is_read("URL-persistente", BASE + text) is was_read


def test_every_rule_of_the_files_is_defined() -> None:
    for rule in READERS:
        assert Grammar(rule).definition is not None


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("repository", "sid.inpe.br/mtc-m19/2010/08.25.12.38"),
        ("IBIp", "8JMKD3MGP7W/385N5PE"),
        ("lista-de-pares", "a1 {a2 a3} a4 a5"),
        ("chave", "1234567890-1234567890"),
        ("mdf", "!+:"),
        ("lista-de-verbos", "GetLastEdition+GetMetadata"),
        ("lista-de-IP", "172.16.44.200 150.163.68.1"),
        ("relacao", ".lastedition.metadata"),
        ("relacao", ".translation(en)"),
        ("URL-persistente", "http://urlib.net/8JMKD3MGP8W/35MMLL8!:(oai_dc)"),
        ("URL-persistente", "http://urlib.net/LK47B6W/362SFKH?ibiurl.verblist=GetFileList"),
        ("formas-de-ibi", "rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5"),
    ],
)
def test_the_standards_own_examples_are_derived_and_read(rule: str, text: str) -> None:
    assert derives(rule, text)
    assert is_read(rule, text)


def test_the_oracle_shares_no_parser_with_us() -> None:
    assert not derives("repository", "8JMKD3MGP8W/34PGRBS")
    assert isinstance(ibi.parse("8JMKD3MGP8W/34PGRBS"), Ibip)
