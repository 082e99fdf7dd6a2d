"""What holds for every label, and for every text that is none."""

from __future__ import annotations

import copy
import pickle
import string
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ibi
from ibi import Ibip, Instant, InvalidLabel, Label, RepositoryName
from ibi.standard.label import find_labels, match_label
from tests.properties.label_strategies import (
    addresses,
    any_text,
    hosts,
    ibip_instants,
    ibip_parts,
    ibip_text,
    ibips,
    instants,
    label_texts,
    labels,
    mutated_labels,
    ports,
    repository_names,
    respelled,
)

# --- round trips -----------------------------------------------------------------------------------------------------


@given(labels)
def test_what_is_written_reads_back(label: Label) -> None:
    assert ibi.parse(str(label)) == label
    assert type(label).parse(str(label)) == label
    assert str(ibi.parse(str(label))) == str(label)


@given(label_texts)
def test_what_is_read_is_written_canonically_and_reads_back(text: str) -> None:
    label = ibi.parse(text)
    assert ibi.parse(str(label)) == label
    assert str(label) == f"{label.prefix}/{label.suffix}"


@given(hosts, ports, instants)
def test_a_repository_name_gives_its_parts_back(host: str, port: int, instant: Instant) -> None:
    label = RepositoryName.from_parts(host, port, instant)
    assert (label.host, label.port, label.instant) == (host, port, instant)
    assert ibi.parse(str(label)) == label


@given(ibip_parts)
def test_parts_to_ibip_to_parts(parts: tuple[str, int, Instant]) -> None:
    label = Ibip.from_parts(*parts)
    assert (label.ip, label.port, label.instant) == parts
    read = Ibip.parse(str(label))
    assert (read.ip, read.port, read.instant) == parts


@given(ibip_parts)
def test_parts_are_written_as_the_algorithms_say(parts: tuple[str, int, Instant]) -> None:
    assert str(Ibip.from_parts(*parts)) == ibip_text(*parts)


@given(instants)
def test_a_date_is_written_as_the_algorithm_says(instant: Instant) -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=instant.seconds)
    seconds = f".{moment:%S}" if moment.second or instant.fraction else ""
    fraction = f".{instant.fraction}" if instant.fraction else ""
    label = RepositoryName.from_parts("a.b", 80, instant)
    assert label.suffix == f"{moment:%Y/%m.%d.%H.%M}{seconds}{fraction}"


@given(st.one_of(ibips.map(str), ibips.map(str).flatmap(respelled), mutated_labels))
def test_ibip_to_parts_to_ibip(text: str) -> None:
    """Whatever is read as an IBIp is what its parts write; but for an address in a spelling of its own (E7)."""
    try:
        label = Ibip.parse(text)
    except InvalidLabel:
        return
    assert ibip_text(label.ip, label.port, label.instant) == text.upper()
    spelled = ip_address(label.ip)
    if label.ip == spelled.compressed and not getattr(spelled, "ipv4_mapped", None):
        assert str(Ibip.from_parts(label.ip, label.port, label.instant)) == text.upper()


def nearby(parts: tuple[str, int, Instant]) -> st.SearchStrategy[tuple[str, int, Instant]]:
    """Parts that differ in one of three, or in none."""
    ip, port, instant = parts
    return st.one_of(
        st.tuples(addresses, st.just(port), st.just(instant)),
        st.tuples(st.just(ip), ports, st.just(instant)),
        st.tuples(st.just(ip), st.just(port), ibip_instants),
        st.tuples(
            st.just(ip), st.just(port), st.text(string.digits, max_size=4).map(lambda f: Instant(instant.seconds, f))
        ),
    )


@given(ibip_parts.flatmap(lambda parts: st.tuples(st.just(parts), nearby(parts))))
def test_distinct_parts_give_distinct_texts(
    both: tuple[tuple[str, int, Instant], tuple[str, int, Instant]],
) -> None:
    one, other = both
    assert (str(Ibip.from_parts(*one)) == str(Ibip.from_parts(*other))) == (one == other)
    assert (Ibip.from_parts(*one) == Ibip.from_parts(*other)) == (one == other)


@given(st.tuples(hosts, ports, instants), st.tuples(hosts, ports, instants))
def test_distinct_parts_give_distinct_repository_names(
    one: tuple[str, int, Instant], other: tuple[str, int, Instant]
) -> None:
    assert (str(RepositoryName.from_parts(*one)) == str(RepositoryName.from_parts(*other))) == (one == other)


@given(labels)
def test_repr_is_an_expression_for_the_label(label: Label) -> None:
    assert eval(repr(label), {"RepositoryName": RepositoryName, "Ibip": Ibip}) == label


# --- identity and order ----------------------------------------------------------------------------------------------


@given(labels.flatmap(lambda label: st.tuples(st.just(label), respelled(label.spelling))))
def test_equality_ignores_case_and_the_hash_agrees(both: tuple[Label, str]) -> None:
    label, text = both
    other = ibi.parse(text)
    assert other == label
    assert hash(other) == hash(label)
    assert str(other) == str(label)
    assert len({label, other}) == 1


@given(labels, labels)
def test_identity_is_form_prefix_and_instant(one: Label, other: Label) -> None:
    same = (one.form, one.prefix.lower(), one.instant) == (other.form, other.prefix.lower(), other.instant)
    assert (one == other) is same
    assert (one != other) is not same
    if same:
        assert hash(one) == hash(other)


@given(labels, labels)
def test_order_is_that_of_instant_form_and_prefix(one: Label, other: Label) -> None:
    left = (one.instant.as_fraction(), one.form, one.prefix)
    right = (other.instant.as_fraction(), other.form, other.prefix)
    assert (one < other) is (left < right)
    assert (one <= other) is (left <= right)
    assert (one > other) is (left > right)
    assert (one >= other) is (left >= right)


@given(st.lists(labels, max_size=8))
def test_sorting_is_sorting_by_instant_form_and_prefix(some: list[Label]) -> None:
    def key(label: Label) -> tuple[object, ...]:
        return label.instant.as_fraction(), label.form, label.prefix

    assert list(map(key, sorted(some))) == sorted(map(key, some))


@given(labels, st.one_of(st.none(), st.integers(), st.text(), instants))
def test_a_label_equals_nothing_but_a_label_and_is_not_ordered_against_anything_else(
    label: Label, other: object
) -> None:
    assert label != other
    assert label != str(label)
    with pytest.raises(TypeError):
        label < other  # noqa: B015


@given(repository_names)
def test_a_prefix_is_in_lower_case_in_a_repository_name(label: RepositoryName) -> None:
    assert label.prefix == label.prefix.lower()


@given(ibips)
def test_a_prefix_is_in_upper_case_in_an_ibip(label: Ibip) -> None:
    assert label.prefix == label.prefix.upper()


# --- values ----------------------------------------------------------------------------------------------------------


@given(label_texts)
def test_the_spelling_is_kept(text: str) -> None:
    assert ibi.parse(text).spelling == text


@given(labels)
def test_the_spelling_of_a_label_that_was_made_is_its_text(label: Label) -> None:
    made = type(label).parse(str(label))
    assert made.spelling == str(label)


@given(label_texts, st.sampled_from(range(pickle.HIGHEST_PROTOCOL + 1)))
def test_a_pickle_gives_the_same_label(text: str, protocol: int) -> None:
    label = ibi.parse(text)
    for other in (pickle.loads(pickle.dumps(label, protocol)), copy.copy(label), copy.deepcopy(label)):
        assert other == label
        assert type(other) is type(label)
        assert other.spelling == text


@given(ibip_parts)
def test_a_pickle_of_a_label_that_was_made_gives_the_same_label(parts: tuple[str, int, Instant]) -> None:
    label = Ibip.from_parts(*parts)
    other = pickle.loads(pickle.dumps(label))
    assert (other, other.spelling) == (label, label.spelling)


@pytest.mark.parametrize("name", ["prefix", "suffix", "instant", "port", "is_global", "spelling", "form", "anything"])
@pytest.mark.parametrize("text", ["8JMKD3MGP8W/34PGRBS", "sid.inpe.br/mtc-m18@80/2009/02.16.17.46"])
def test_a_label_cannot_be_changed(text: str, name: str) -> None:
    label = ibi.parse(text)
    with pytest.raises(AttributeError):
        setattr(label, name, None)
    with pytest.raises(AttributeError):
        delattr(label, name)
    assert label == ibi.parse(text)


# --- texts that are no labels ----------------------------------------------------------------------------------------


def check_refusal(error: InvalidLabel, text: str) -> None:
    sentence = str(error)
    assert error.text == text
    assert 0 <= error.offset <= len(text)
    assert sentence.strip()
    assert len(sentence.splitlines()) == 1
    assert sentence.endswith(".")
    assert error.code == "invalid-label"
    sentence.encode()  # a lone surrogate is shown escaped


@given(any_text)
def test_any_text_is_a_label_or_refused(text: str) -> None:
    for parse in (ibi.parse, RepositoryName.parse, Ibip.parse):
        try:
            label = parse(text)
        except InvalidLabel as error:
            check_refusal(error, text)
        else:
            assert label.spelling == text
            assert ibi.parse(str(label)) == label
            assert ibi.parse(text) == label


@given(any_text)
def test_either_form_is_read_by_exactly_one_of_the_two(text: str) -> None:
    readers = []
    for form in (RepositoryName, Ibip):
        try:
            form.parse(text)
        except InvalidLabel:
            continue
        readers.append(form)
    if readers:
        assert [type(ibi.parse(text))] == readers
    else:
        with pytest.raises(InvalidLabel):
            ibi.parse(text)


@given(any_text)
def test_a_refusal_survives_pickling(text: str) -> None:
    try:
        ibi.parse(text)
    except InvalidLabel as error:
        other = pickle.loads(pickle.dumps(error))
        assert (str(other), other.text, other.offset, other.code) == (str(error), text, error.offset, error.code)


@given(st.one_of(hosts, st.text(st.characters(codec=None)), st.text("ab.-1K\u212a", max_size=20)), ports, instants)
def test_any_host_gives_a_label_or_is_refused(host: str, port: int, instant: Instant) -> None:
    try:
        label = RepositoryName.from_parts(host, port, instant)
    except InvalidLabel as error:
        assert 0 <= error.offset <= len(error.text)
        assert len(str(error).splitlines()) == 1
    else:
        assert host.isascii()
        assert label.host == host.lower().removesuffix(".")
        assert ibi.parse(str(label)) == label


@given(st.one_of(addresses, st.text(st.characters(codec=None)), st.text("0123456789abcdef.:%", max_size=40)), ports)
def test_any_address_gives_a_label_or_is_refused(ip: str, port: int) -> None:
    try:
        label = Ibip.from_parts(ip, port, Instant(1234806360))
    except InvalidLabel as error:
        assert 0 <= error.offset <= len(error.text)
        assert len(str(error).splitlines()) == 1
    else:
        assert ibi.parse(str(label)) == label
        expected = ip_address(ip)
        assert ip_address(label.ip) == (getattr(expected, "ipv4_mapped", None) or expected)


# --- labels in longer texts ------------------------------------------------------------------------------------------


@given(label_texts)
def test_a_label_matches_itself_to_its_end(text: str) -> None:
    assert match_label(text) == (ibi.parse(text), len(text))


@given(
    label_texts, st.sampled_from(["", "/", "!", ":", "+(pt)", "?x=y", "/doc/a.pdf", " ", "\n", "%20", "#", ")", "…"])
)
def test_a_label_matches_before_what_follows_it(text: str, after: str) -> None:
    found = match_label(text + after)
    assert found == (ibi.parse(text), len(text))
    assert found[0].spelling == text


@given(st.text(max_size=5), label_texts)
def test_a_label_matches_at_its_place(before: str, text: str) -> None:
    assert match_label(before + text, len(before)) == (ibi.parse(text), len(text) + len(before))


@given(any_text, st.integers(0, 20))
def test_what_matches_is_a_label_there(text: str, start: int) -> None:
    found = match_label(text, start)
    if found is not None:
        label, end = found
        assert text[start:end] == label.spelling
        assert ibi.parse(text[start:end]) == label


@given(any_text)
def test_whatever_parses_matches_too(text: str) -> None:
    try:
        label = ibi.parse(text)
    except InvalidLabel:
        return
    assert match_label(text) == (label, len(text))


@given(any_text)
def test_what_is_found_is_a_label_there_and_nothing_overlaps(text: str) -> None:
    end = 0
    for found in find_labels(text):
        assert end <= found.start < found.end <= len(text)
        assert text[found.start : found.end] == found.label.spelling
        assert ibi.parse(found.label.spelling) == found.label
        end = found.end


gaps = st.sampled_from([" ", ", ", "; ", "\n", " (", '" <a href="http://urlib.net/', " | ", "> ", "!: ", "? "])


@given(st.lists(st.tuples(label_texts, gaps), max_size=5))
def test_every_label_of_a_text_is_found_in_order(parts: list[tuple[str, str]]) -> None:
    text = "".join(label + gap for label, gap in parts)
    assert [found.label for found in find_labels(text)] == [ibi.parse(label) for label, _ in parts]


@given(label_texts, st.sampled_from(string.ascii_letters + string.digits + "_"))
def test_a_label_that_goes_on_as_a_longer_word_is_not_found_as_it_is(text: str, sign: str) -> None:
    label = ibi.parse(text)
    assert label not in [found.label for found in find_labels(text + sign) if found.end == len(text)]


@given(label_texts, st.sampled_from(string.ascii_letters + string.digits + "_.@%-"))
def test_a_label_inside_a_longer_word_is_not_found_there(text: str, sign: str) -> None:
    assert all(found.start != 1 for found in find_labels(sign + text))


@given(labels)
def test_a_found_label_can_be_parsed_with_its_spelling(label: Label) -> None:
    (found,) = find_labels(f"see {label}.")
    assert found.label == label
