from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.standard.errors import InvalidRelation
from ibi.standard.languages import InvalidLanguageTag, LanguageTag
from ibi.standard.relation import Relation, Step, Translation, VerbList
from tests.properties.relation_strategies import SHAPES, any_tags, relations

# Pieces of the three notations, and what does not belong into any of them
PIECES = [
    *("!", "+", ":", "(", ")", "+(pt)", "+(pt-BR)", "+(xx)", ":(oai_dc)", "-", "pt", "PT", "oai_dc", "é", "\n", " "),
    *(".", ".lastedition", ".translation", ".metadata", ".metadata(oai_dc)", ".translation(en)"),
    *("GetLastEdition", "GetTranslation", "GetMetadata", "GetFileList", "GetTranslation(en)", "getmetadata(x)"),
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=8).map("".join) | st.text()


@given(any_tags, st.booleans())
def test_every_language_tag_reads_back(tag: LanguageTag, upper: bool) -> None:
    text = str(tag).upper() if upper else str(tag).lower()
    assert LanguageTag.parse(text, registered=False) == tag


@given(TEXTS, st.booleans())
def test_any_text_is_a_language_tag_or_refused(text: str, registered: bool) -> None:
    try:
        tag = LanguageTag.parse(text, registered=registered)
    except InvalidLanguageTag as error:
        assert 0 <= error.offset <= len(text)
        assert str(error)
    else:
        assert str(tag).lower() == text.lower()


@given(relations(any_tags))
def test_every_relation_reads_back_from_all_three_notations(relation: Relation) -> None:
    assert Relation.from_modifier(relation.modifier, registered=False) == relation
    assert Relation.from_verbs(relation.verbs, registered=False) == relation
    assert Relation.from_qualifier(relation.qualifier) == relation
    assert Relation.from_modifier(str(relation), registered=False) == relation


@given(relations())
def test_a_relation_in_registered_languages_reads_back_as_users_write_it(relation: Relation) -> None:
    assert relation.is_registered
    assert Relation.from_modifier(relation.modifier.swapcase()) == relation
    assert Relation.from_verbs(relation.verbs) == relation
    assert Relation.from_qualifier(relation.qualifier.upper(), registered=True) == relation


@given(relations(any_tags), st.booleans(), st.sampled_from([" ", "+", "  "]))
def test_every_verb_list_reads_back(relation: Relation, file_list: bool, joint: str) -> None:
    verbs = VerbList(relation, file_list)
    assert VerbList.parse(joint.join(verbs.verbs), registered=False) == verbs
    assert VerbList.parse(str(verbs), registered=False) == verbs


@given(TEXTS)
def test_any_text_is_a_relation_or_refused(text: str) -> None:
    for read, write in (
        (Relation.from_modifier, lambda relation: relation.modifier),
        (Relation.from_qualifier, lambda relation: relation.qualifier),
        (Relation.from_verbs, lambda relation: " ".join(relation.verbs)),
    ):
        try:
            relation = read(text)
        except InvalidRelation as error:
            assert 0 <= error.offset <= len(error.text)
            assert str(error)
        else:
            assert read(write(relation)) == relation


@given(relations(), TEXTS)
def test_a_modifier_and_any_text_of_verbs_are_united_or_refused(modifier: Relation, text: str) -> None:
    try:
        united = VerbList.union(modifier, text)
    except InvalidRelation as error:
        assert str(error)
    else:
        assert VerbList.union(united.relation, text).relation == united.relation


@given(relations())
def test_a_union_with_its_own_verbs_or_with_none_changes_nothing(relation: Relation) -> None:
    assert VerbList.union(relation, relation.verbs) == (relation, False)
    assert VerbList.union(relation, ()) == (relation, False)
    assert VerbList.union(Relation.ITSELF, relation.verbs) == (relation, False)


@given(relations(any_tags))
def test_every_beginning_and_every_end_of_a_relation_is_a_relation(relation: Relation) -> None:
    for cut in range(len(relation.steps) + 1):
        prefix, rest = Relation(relation.steps[:cut]), Relation(relation.steps[cut:])
        assert relation.begins_with(prefix)
        assert relation.without_prefix(prefix) == rest
    lengths = [len(prefix.steps) for prefix in relation.proper_prefixes()]
    assert lengths == list(range(len(relation.steps) - 1, 0, -1))


@given(relations(any_tags), st.data())
def test_a_relation_with_its_languages_left_open_wants_it_and_can_be_filled_to_it(
    relation: Relation, data: st.DataObject
) -> None:
    wanted = Relation(tuple(opened(step) if data.draw(st.booleans()) else step for step in relation.steps))
    assert relation.matches(relation)
    assert wanted.matches(relation)
    assert relation.matches(wanted) == (relation == wanted)
    filled = wanted
    for index in wanted.open_translations:
        step = relation.steps[index]
        if isinstance(step, Translation) and step.language is not None:
            filled = filled.with_language(index, step.language)
    assert filled == relation
    for prefix in relation.proper_prefixes():
        assert wanted.without_prefix(prefix) == Relation(wanted.steps[len(prefix.steps) :])


def opened(step: Step) -> Step:
    return Translation() if isinstance(step, Translation) else step


@given(relations(any_tags), relations(any_tags))
def test_only_relations_of_one_shape_match(wanted: Relation, offered: Relation) -> None:
    if wanted.matches(offered):
        assert [step.kind for step in wanted.steps] == [step.kind for step in offered.steps]
    assert (wanted == offered) == (wanted.qualifier.lower() == offered.qualifier.lower())


@given(st.text("utm", max_size=7))
def test_no_other_shape_exists(shape: str) -> None:
    modifier = "".join({"u": "!", "t": "+", "m": ":"}[kind] for kind in shape)
    if shape in SHAPES:
        assert Relation.from_modifier(modifier).modifier == modifier
    else:
        with pytest.raises(InvalidRelation):
            Relation.from_modifier(modifier)
