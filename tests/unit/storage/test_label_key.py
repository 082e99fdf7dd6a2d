"""Labels as bytes that sort as labels do."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from ibi.standard.instant import FIRST_SECOND, LAST_SECOND, Instant
from ibi.standard.label import Ibip, Label, RepositoryName, parse
from ibi.storage.columns import label_key, repository_name

seconds = st.integers(FIRST_SECOND, LAST_SECOND) | st.sampled_from([FIRST_SECOND, -1, 0, 255, 256, LAST_SECOND])
instants = st.builds(Instant, seconds, st.text("0159", max_size=3))
names = st.builds(
    RepositoryName.from_parts,
    st.sampled_from(["a.br", "a.b.br", "ab.br", "a-b.br"]),
    st.sampled_from([80, 8080]),
    instants,
)
late = st.builds(Instant, st.integers(807_235_200, LAST_SECOND), st.text("0159", max_size=3))
ibips = st.builds(Ibip.from_parts, st.sampled_from(["150.163.34.243", "2001:db8::1"]), st.sampled_from([800, 80]), late)


@given(names, names)
@example(*(parse(f"br/a/2009/02.16.17.46.05{tail}") for tail in (".05", ".1")))
@example(*(parse(f"br/a/2009/02.16.17.46.05{tail}") for tail in ("", ".001")))
def test_keys_sort_as_repository_names_do(one: RepositoryName, other: RepositoryName) -> None:
    assert (label_key(one) < label_key(other)) == (one < other)
    assert (label_key(one) == label_key(other)) == (one == other)


@given(names | ibips, names | ibips)
def test_different_labels_have_different_keys(one: Label, other: Label) -> None:
    assert (label_key(one) == label_key(other)) == (one == other)


@given(names | ibips)
def test_case_makes_no_difference(label: Label) -> None:
    assert label_key(type(label).parse(str(label).swapcase())) == label_key(label)


@given(names)
def test_a_name_is_read_back_from_its_key(name: RepositoryName) -> None:
    assert repository_name(label_key(name)) == name
    assert str(repository_name(label_key(name))) == str(name)
