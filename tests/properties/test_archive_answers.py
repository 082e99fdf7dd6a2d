"""What an Archive answers, whatever items it has and whatever is asked: the rules of SPEC §8 for all of them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ibi.archive.rules.answer import Assembler, assemble_url_list, filter_url_list, static_answer
from ibi.archive.rules.profile import ALL_RELATIONS, ArchiveProfile, ArchiveUrls, Reader
from ibi.items.model.metadata import DescriptiveMetadata
from ibi.items.rules.related_items import find_labelled
from ibi.standard.errors import InvalidMessage, InvalidRelation
from ibi.standard.instant import Instant
from ibi.standard.messages import Deletion, State, UrlKey, UrlList, UrlRequest, ip_addresses, parse_url_list
from ibi.standard.messages.identification import UrlKeys
from ibi.standard.pairs import Pairs, Value
from ibi.standard.relation import Relation
from tests.properties.item_strategies import HOSTILE, forms_at, items, seconds, tags
from tests.properties.relation_strategies import relations
from tests.support.archive_catalog import PlainCatalog

KEYS = UrlKeys(b"s" * 32)
BASE = "http://arq.lab.br"
SERVICE = "https://maps.lab.br/wms?service=WMS"
KEY = UrlKey("1426203276-5985125171467764")
HERE, KNOWN = 5, 8
"""How many items are in the catalogue, and how many have labels that they may name."""


@st.composite
def catalogs(draw: st.DrawFn) -> PlainCatalog:
    catalog = PlainCatalog()
    for minute in range(draw(st.integers(1, HERE))):
        others = st.sampled_from([other for other in range(KNOWN) if other != minute])
        related = st.builds(lambda other, both: forms_at(other, both=both), others, st.booleans())
        catalog.put(draw(items(minute, related=related, described=st.just(DescriptiveMetadata()))))
    return catalog


profiles = st.builds(
    ArchiveProfile,
    st.just("arq.lab.br"),
    st.just(forms_at(50)),
    st.just(ArchiveUrls(BASE, BASE)),
    st.sampled_from([None, forms_at(51)]),
    st.just(ALL_RELATIONS) | st.frozensets(st.sampled_from(sorted(ALL_RELATIONS, key=str)), max_size=8),
    st.booleans(),
    st.booleans(),
)


@st.composite
def requests(draw: st.DrawFn, catalog: PlainCatalog) -> UrlRequest:
    names = [file.path for item in catalog.items() for file in item.files]
    path = draw(st.none() | st.sampled_from([*names, *HOSTILE]))
    try:
        return UrlRequest(
            ip_addresses(draw(st.sampled_from(["8.8.8.8", "150.163.2.175", "172.16.0.1 2001:db8::1"]))),
            draw(st.sampled_from(forms_at(draw(st.integers(0, HERE))).labels)),
            draw(relations(tags)),
            path,
            draw(st.booleans()),
        )
    except InvalidMessage:  # no request can hold such a path
        return UrlRequest(ip_addresses("8.8.8.8"), forms_at(0).labels[0])


@st.composite
def questions(draw: st.DrawFn) -> tuple[ArchiveProfile, PlainCatalog, UrlRequest, Instant]:
    catalog = draw(catalogs())
    return draw(profiles), catalog, draw(requests(catalog)), Instant(draw(seconds))


Question = tuple[ArchiveProfile, PlainCatalog, UrlRequest, Instant]


def whole(question: Question, key: UrlKey | None = KEY) -> UrlList | Deletion | None:
    profile, catalog, request, now = question
    return assemble_url_list(profile, catalog, request, Reader(request.client_addresses, now), key)


@given(questions())
def test_an_answer_is_read_as_what_it_was_written_from(question: Question) -> None:
    answer = whole(question)
    body = b"" if answer is None else answer.encode()
    assert parse_url_list(Pairs.decode(body)) == answer


@given(questions())
def test_nothing_in_an_item_adds_a_pair_or_leads_elsewhere(question: Question) -> None:
    answer = whole(question)
    if answer is None:
        return
    lines = answer.encode().split(b"\r\n")
    assert len(lines) == len(answer.to_pairs())
    for name, value in answer.to_pairs().items():
        assert name in FIXED or is_qualified(name)
        if name.split(".")[0] == "url":
            assert value == SERVICE or str(value).startswith(f"{BASE}/col/lab.br/arq/")
    assert answer.to_pairs()["archiveaddress"] == "arq.lab.br"


FIXED = {"archiveaddress", "ibi.archiveservice", "ibi.platformsoftware", "ibi.nextedition", "urlkey"}
QUALIFIED = {"contenttype", "ibi", "state", "timestamp", "url"}


def is_qualified(name: str) -> bool:
    prefix, dot, qualifier = name.partition(".")
    return prefix in QUALIFIED and Relation.from_qualifier(dot + qualifier).qualifier == dot + qualifier


@given(questions())
def test_what_was_deleted_says_so_and_what_is_there_never_does(question: Question) -> None:
    item = question[1].find(question[2].label)
    answer = whole(question)
    assert isinstance(answer, Deletion) == (item is not None and item.state is State.DELETED)
    assert (answer is None) == (item is None)


@given(questions())
def test_without_a_next_edition_the_last_edition_is_the_item_itself(question: Question) -> None:
    answer = whole(question)
    if not isinstance(answer, UrlList) or answer.next_edition is not None:
        return
    by_relation = {entry.relation: entry for entry in answer.entries}
    for relation, entry in by_relation.items():
        if relation.begins_with_last_edition:
            bare = by_relation.get(Relation(relation.steps[1:]))
            assert bare is None or replace(bare, relation=relation) == entry


@given(questions())
def test_looking_up_less_gives_what_filtering_the_whole_gives(question: Question) -> None:
    profile, catalog, request, now = question
    reader = Reader(request.client_addresses, now)
    expected = filter_url_list(whole(question, None), request.relation)
    item = find_labelled(catalog, request.label)
    if item is None or item.original_tombstone is not None:
        assert expected is None
    else:
        looked_up = Assembler(replace(profile, filtered=True), catalog, request, reader).of_item(item)
        assert looked_up == expected


@given(questions(), relations(tags))
def test_filtering_is_idempotent(question: Question, wanted: Relation) -> None:
    once = filter_url_list(whole(question), wanted)
    assert filter_url_list(once, wanted) == once


@given(questions(), relations(tags))
def test_the_filter_keeps_exactly_what_it_should(question: Question, wanted: Relation) -> None:
    """SPEC §8 written anew, on names."""
    answer = whole(question)
    filtered = filter_url_list(answer, wanted)
    if answer is None or filtered is None:
        assert answer is filtered
        return
    pairs = dict(answer.to_pairs())
    assert dict(filtered.to_pairs()) == (pairs if isinstance(answer, Deletion) else kept(pairs, wanted))


def kept(pairs: dict[str, Value], wanted: Relation) -> dict[str, Value]:
    always = {"archiveaddress", "ibi", "ibi.archiveservice", "ibi.platformsoftware"}
    names = {name for name in pairs if name in always or (name not in FIXED and wanted.matches(qualifier_of(name)))}
    urls = [qualifier_of(name) for name in names if name.partition(".")[0] == "url"]
    if wanted.asks_last_edition:
        names |= {"ibi.nextedition"} & set(pairs)
    if urls:
        names |= {"urlkey"} & set(pairs)
    for name in pairs:
        if name.startswith("ibi.") and name not in FIXED:
            prefix = qualifier_of(name)
            begins = any(one.matches(prefix) for one in wanted.proper_prefixes())
            if begins and not any(url.steps[: len(prefix.steps)] == prefix.steps for url in urls):
                names.add(name)
    return {name: pairs[name] for name in names}


def qualifier_of(name: str) -> Relation:
    _, dot, qualifier = name.partition(".")
    try:
        return Relation.from_qualifier(dot + qualifier)
    except InvalidRelation as error:
        raise AssertionError(name) from error


@given(questions(), st.integers(0, 10**8 - 1))
def test_the_part_that_is_kept_and_a_key_make_the_whole_answer(question: Question, random: int) -> None:
    profile, catalog, request, now = question
    static = static_answer(profile, catalog, request, now, KEYS)
    body = static.with_key(KEYS, now.seconds, random)
    read = parse_url_list(Pairs.decode(body))
    assert (b"" if read is None else read.encode()) == body
    has_key = isinstance(read, UrlList) and read.url_key is not None
    assert has_key == (static.subject is not None)


@given(questions())
def test_what_does_not_depend_on_the_client_is_the_same_for_every_client(question: Question) -> None:
    profile, catalog, request, now = question
    static = static_answer(profile, catalog, request, now, KEYS)
    if static.depends_on_client:
        return
    for address in ("10.1.2.3", "150.163.2.175", "2001:db8::5", "8.8.4.4"):
        other = replace(request, client_addresses=ip_addresses(address))
        assert static_answer(profile, catalog, other, now, KEYS) == static


@given(questions())
def test_an_answer_is_true_until_it_says_it_is_not(question: Question) -> None:
    profile, catalog, request, now = question
    static = static_answer(profile, catalog, request, now, KEYS)
    last = Instant(2_000_000_000) if static.good_until is None else Instant(static.good_until.seconds - 1)
    if last >= now:
        assert static_answer(profile, catalog, request, last, KEYS).body == static.body
