from __future__ import annotations

import pickle
import time

import pytest

from ibi.standard.errors import InvalidRelation
from ibi.standard.languages import LanguageTag
from ibi.standard.relation import LastEdition, Metadata, Relation, Translation, VerbList

PT, PT_BR, EN = LanguageTag("pt"), LanguageTag("pt", "BR"), LanguageTag("en")


def r(modifier: str) -> Relation:
    return Relation.from_modifier(modifier)


class TestNotations:
    def test_one_relation_has_three(self) -> None:
        relation = Relation((LastEdition(), Translation(PT_BR), Metadata("oai_dc"), Translation()))
        assert relation.modifier == str(relation) == "!+(pt-BR):(oai_dc)+"
        assert relation.verbs == ("GetLastEdition", "GetTranslation(pt-BR)", "GetMetadata(oai_dc)", "GetTranslation")
        assert relation.qualifier == ".lastedition.translation(pt-BR).metadata(oai_dc).translation"

    @pytest.mark.parametrize("text", [".LastEdition.METADATA(OAI_DC)", ".lastedition.metadata(oai_dc)"])
    def test_a_qualifier_is_read_in_any_case(self, text: str) -> None:
        assert Relation.from_qualifier(text).qualifier == ".lastedition.metadata(oai_dc)"

    def test_the_parameters_of_a_modifier_are_read_in_any_case(self) -> None:
        assert r("+(PT-br):(Oai_DC)").modifier == "+(pt-BR):(oai_dc)"

    def test_verbs_may_come_one_by_one(self) -> None:
        assert Relation.from_verbs(("GetLastEdition", "GetMetadata")) == r("!:")
        assert Relation.from_verbs([]) == Relation.ITSELF

    def test_the_list_of_files_is_no_relation(self) -> None:
        with pytest.raises(InvalidRelation):
            Relation.from_verbs("GetLastEdition GetFileList")

    @pytest.mark.parametrize(
        ("text", "offset"),
        [("!!", 1), ("+(xx)", 2), ("!+(pt-XX)", 6), (":(1)", 2), ("!a", 1), ("+(pt", 1), ("!(a)", 2)],
    )
    def test_an_error_says_where(self, text: str, offset: int) -> None:
        with pytest.raises(InvalidRelation) as caught:
            r(text)
        assert (caught.value.text, caught.value.offset) == (text, offset)

    @pytest.mark.parametrize(
        "text", ["！", "＋", "GetMetadaſa", "ĞetMetadata", ".lasteditıon", ".metadata\n", " :", ": "]
    )
    def test_look_alikes_and_blanks_are_refused(self, text: str) -> None:
        for read in (Relation.from_modifier, Relation.from_qualifier, lambda text: Relation.from_verbs([text])):
            with pytest.raises(InvalidRelation):
                read(text)

    def test_registered_languages_are_asked_of_modifiers_and_verbs_unless_told_otherwise(self) -> None:
        assert Relation.from_modifier("+(xx)", registered=False) == Relation.from_qualifier(".translation(xx)")
        assert Relation.from_verbs("GetTranslation(xx)", registered=False).languages == (LanguageTag("xx"),)
        with pytest.raises(InvalidRelation):
            Relation.from_qualifier(".translation(xx)", registered=True)

    @pytest.mark.parametrize("text", ["!" * 8000, "+(" * 4000, "+(a" * 4000, ":(" + "a" * 8000, "." * 8000, "(" * 8000])
    def test_long_nonsense_is_refused_at_once(self, text: str) -> None:
        start = time.perf_counter()
        for read in (Relation.from_modifier, Relation.from_qualifier, Relation.from_verbs):
            with pytest.raises(InvalidRelation):
                read(text)
        assert time.perf_counter() - start < 0.03


class TestValue:
    def test_a_shape_outside_the_grammar_cannot_be_built(self) -> None:
        with pytest.raises(InvalidRelation):
            Relation((Metadata(), LastEdition()))

    def test_formats_are_equal_without_case_and_keep_theirs(self) -> None:
        upper, lower = Metadata("BibINPE"), Metadata("bibinpe")
        assert upper == lower
        assert hash(upper) == hash(lower)
        assert (upper.format, lower.format) == ("BibINPE", "bibinpe")
        assert upper != Metadata()
        assert upper != Metadata("marc")
        assert Metadata("OAI_dc").format == "oai_dc"

    @pytest.mark.parametrize("name", ["", "1a", "a b", "_a", "a)", "é"])
    def test_a_format_is_a_name(self, name: str) -> None:
        with pytest.raises(InvalidRelation):
            Metadata(name)

    def test_a_relation_is_hashable_and_survives_pickling(self) -> None:
        relation = r("!+(pt-BR):(BibINPE)+")
        assert pickle.loads(pickle.dumps(relation)) == relation
        assert len({relation, r("!+(pt-BR):(bibinpe)+"), Relation.ITSELF}) == 2

    def test_a_relation_cannot_change(self) -> None:
        with pytest.raises(AttributeError):
            Relation.ITSELF.steps = ()  # type: ignore[misc]


class TestQuestions:
    @pytest.mark.parametrize(
        ("modifier", "begins", "asks"),
        [("", False, False), ("!:", True, True), ("+!", False, True), ("+:", False, False)],
    )
    def test_whether_the_last_edition_is_asked(self, modifier: str, begins: bool, asks: bool) -> None:
        assert (r(modifier).begins_with_last_edition, r(modifier).asks_last_edition) == (begins, asks)

    @pytest.mark.parametrize(
        ("modifier", "ends", "ends_in_format", "asks", "format_"),
        [
            ("", False, False, False, None),
            (":", True, False, True, None),
            ("!:(oai_dc)", True, True, True, "oai_dc"),
            (":(oai_dc)+", False, False, True, "oai_dc"),
            ("+!", False, False, False, None),
        ],
    )
    def test_whether_metadata_are_asked(
        self, modifier: str, ends: bool, ends_in_format: bool, asks: bool, format_: str | None
    ) -> None:
        relation = r(modifier)
        assert (relation.ends_in_metadata, relation.ends_in_metadata_format) == (ends, ends_in_format)
        assert (relation.asks_metadata, relation.metadata_format) == (asks, format_)

    def test_which_translations_are_open(self) -> None:
        assert r("!+:+").open_translations == (1, 3)
        assert r("+(pt):+").open_translations == (2,)
        assert r("!:").open_translations == ()

    def test_which_languages_are_named(self) -> None:
        assert r("+(pt-BR):+(en)").languages == (PT_BR, EN)
        assert r("+").languages == ()
        assert r("+(pt)").is_registered
        assert not Relation.from_qualifier(".translation(xx)").is_registered


class TestMatching:
    @pytest.mark.parametrize(
        ("wanted", "offered"),
        [
            ("", ""),
            ("+", "+"),
            ("+", "+(pt)"),
            ("+", "+(pt-BR)"),
            ("+(pt)", "+(pt)"),
            ("!+:(oai_dc)+", "!+(en):(OAI_DC)+(pt)"),
            (":", ":"),
        ],
    )
    def test_what_is_wanted_matches(self, wanted: str, offered: str) -> None:
        assert r(wanted).matches(r(offered))

    @pytest.mark.parametrize(
        ("wanted", "offered"),
        [
            ("", "+"),
            ("+", ""),
            ("+(pt)", "+"),
            ("+(pt)", "+(pt-BR)"),
            ("+(pt-BR)", "+(pt)"),
            (":", ":(oai_dc)"),
            (":(oai_dc)", ":"),
            ("!", "+"),
            ("+", ":"),
            ("!+", "+(pt)!"),
        ],
    )
    def test_what_is_not_wanted_does_not(self, wanted: str, offered: str) -> None:
        assert not r(wanted).matches(r(offered))


class TestPrefixes:
    def test_proper_prefixes_come_longest_first_and_without_the_empty_one(self) -> None:
        assert r("!+(pt):+").proper_prefixes() == (r("!+(pt):"), r("!+(pt)"), r("!"))
        assert r(":").proper_prefixes() == ()
        assert Relation.ITSELF.proper_prefixes() == ()

    def test_a_relation_begins_with_its_prefixes_exactly(self) -> None:
        assert r("+(pt):").begins_with(r("+(pt)"))
        assert r("+(pt):").begins_with(Relation.ITSELF)
        assert r("+(pt):").begins_with(r("+(pt):"))
        assert not r("+(pt):").begins_with(r("+"))
        assert not r("+").begins_with(r("+:"))

    @pytest.mark.parametrize(
        ("relation", "prefix", "rest"),
        [
            ("!:", "!", ":"),
            ("+:(oai_dc)", "+(pt)", ":(oai_dc)"),
            ("+(pt):(oai_dc)", "+", ":(oai_dc)"),
            ("!+:+(en)", "!+(pt):", "+(en)"),
            ("!:", "!:", ""),
            ("!:", "", "!:"),
        ],
    )
    def test_the_rest_is_what_remains_after_a_prefix_as_wanted_or_as_offered(
        self, relation: str, prefix: str, rest: str
    ) -> None:
        assert r(relation).without_prefix(r(prefix)) == r(rest)

    @pytest.mark.parametrize(
        ("relation", "prefix"), [("!:", "+"), ("+(pt):", "+(en)"), ("!", "!:"), ("", "!"), (":", ":(a)")]
    )
    def test_what_does_not_begin_with_it_has_no_rest(self, relation: str, prefix: str) -> None:
        with pytest.raises(InvalidRelation):
            r(relation).without_prefix(r(prefix))


class TestChanges:
    def test_an_open_translation_gets_a_language(self) -> None:
        assert r("!+:+").with_language(1, PT) == r("!+(pt):+")
        assert r("!+(pt):+").with_language(3, EN) == r("!+(pt):+(en)")

    @pytest.mark.parametrize(("modifier", "index"), [("+(pt)", 0), ("!+", 0), ("+:", 1)])
    def test_nothing_else_does(self, modifier: str, index: int) -> None:
        with pytest.raises(InvalidRelation):
            r(modifier).with_language(index, EN)

    def test_a_language_can_be_taken_back(self) -> None:
        assert r("!+(pt)").without_language(1) == r("!+")
        with pytest.raises(InvalidRelation):
            r("!+").without_language(1)

    def test_a_translation_or_last_edition_can_go(self) -> None:
        assert r("+(pt)!:").without_step(0) == r("!:")
        assert r("!+:+").without_step(0) == r("+:+")
        assert r("+:+").without_step(2) == r("+:")

    def test_a_step_that_holds_two_others_apart_cannot(self) -> None:
        with pytest.raises(InvalidRelation):
            r("+:+").without_step(1)


class TestVerbList:
    def test_a_verb_list_is_a_pair_of_relation_and_flag(self) -> None:
        relation, file_list = VerbList.parse("getfilelist GetMetadata")
        assert (relation, file_list) == (r(":"), True)

    def test_the_list_of_files_is_written_last(self) -> None:
        assert VerbList(r("!:"), True).verbs == ("GetLastEdition", "GetMetadata", "GetFileList")
        assert str(VerbList(Relation.ITSELF)) == ""

    def test_alone_it_is_judged_strictly(self) -> None:
        with pytest.raises(InvalidRelation):
            VerbList.parse("GetMetadata GetMetadata(oai_dc)")

    def test_united_with_a_modifier_it_is_not(self) -> None:
        assert VerbList.union(r(":"), "GetMetadata(oai_dc)") == (r(":(oai_dc)"), False)
        assert VerbList.union(r("!"), ["GetFileList"]) == (r("!"), True)
        assert VerbList.union(r("!"), "") == (r("!"), False)
