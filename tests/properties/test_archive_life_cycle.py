"""Three Archives and whatever may happen in them: what SPEC §3 promises holds after every step.

The machine tries any act on any item anywhere. A shadow of sets and dictionaries says what must come of it.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from ibi.archive.rules.answer import assemble_url_list
from ibi.archive.rules.profile import ArchiveProfile, ArchiveUrls, Reader
from ibi.items.model.file import File
from ibi.items.model.item import Draft, Item
from ibi.items.model.metadata import DescriptiveMetadata, Text
from ibi.items.rules import life_cycle
from ibi.items.rules import related_items as editions
from ibi.items.rules import related_items as translations
from ibi.items.rules.errors import (
    AlreadyThere,
    EditionLoop,
    NotAllowedNow,
    SecondSuccessor,
    SecondTranslation,
    TranslationOfTranslation,
)
from ibi.items.rules.life_cycle import TABLE, Act, Standing
from ibi.standard.instant import Instant
from ibi.standard.languages import LanguageTag
from ibi.standard.messages import Deletion, LabelForms, State, UrlList, UrlRequest, ip_addresses
from tests.properties.item_strategies import forms_at
from tests.support.archive_catalog import PlainCatalog
from tests.support.flat_items import new_draft

ARCHIVES = range(3)
CLIENT = ip_addresses("8.8.8.8")
TITLE = DescriptiveMetadata(title=(Text("A title"),))
PROFILES = [
    ArchiveProfile(
        f"a{number}.br", forms_at(9_000 + number), ArchiveUrls(f"http://a{number}.br", f"http://a{number}.br")
    )
    for number in ARCHIVES
]
names = st.sampled_from(["a.pdf", "b.pdf", "doc/c.txt"])
languages = st.sampled_from([LanguageTag("pt"), LanguageTag("pt", "BR"), LanguageTag("en")])
places = st.sampled_from(ARCHIVES)


def draft(*paths: str, language: LanguageTag | None = None, **links: LabelForms | None) -> Draft:
    files = tuple(File(path, 1, "0" * 128) for path in paths)
    return new_draft(metadata=TITLE, files=files, language=language, **links)


class Network(RuleBasedStateMachine):
    ibis = Bundle("ibis")

    def __init__(self) -> None:
        super().__init__()
        self.catalogs = [PlainCatalog() for _ in ARCHIVES]
        self.seconds = 1_700_000_000
        self.minutes = 0
        self.standing: dict[LabelForms, list[Standing]] = {}
        self.next: dict[LabelForms, LabelForms] = {}

    # --- what anybody may try ---------------------------------------------------------------------------------------

    @rule(target=ibis, place=places, path=names, language=st.none() | languages)
    def publish(self, place: int, path: str, language: LanguageTag | None) -> LabelForms:
        labels = self._new_labels()
        self.catalogs[place].put(life_cycle.publish(draft(path, language=language), labels, self._now()))
        self.standing[labels] = [Standing.NOTHING for _ in ARCHIVES]
        self.standing[labels][place] = Standing.ORIGINAL
        return labels

    @rule(place=places, ibi=ibis)
    def publish_under_a_label_that_was_used(self, place: int, ibi: LabelForms) -> None:
        here = self._find(place, ibi)
        if here is None:
            return  # whoever mints never gives a label twice; another Archive cannot know
        self._refused(Act.PUBLISH, lambda: life_cycle.publish(draft("a.pdf"), ibi, self._now(), here=here), here)

    @rule(place=places, ibi=ibis, paths=st.lists(names, min_size=1, unique=True))
    def update(self, place: int, ibi: LabelForms, paths: list[str]) -> None:
        item = self._find(place, ibi)
        if item is None or not self._allowed(place, ibi, Act.UPDATE):
            if item is not None:
                self._refused(Act.UPDATE, lambda: life_cycle.update(item, draft(*paths), self._now()), item)
            return
        updated = life_cycle.update(item, draft(*paths, language=item.language), self._now())
        gone = {file.path for file in item.files} - set(paths)
        assert {warning.path for warning in updated.warnings} == gone
        assert (updated.item.labels, updated.item.version) == (item.labels, item.version + 1)
        assert updated.item.updated > item.updated
        assert updated.item.next_edition == item.next_edition
        self.catalogs[place].put(updated.item)

    @rule(place=places, ibi=ibis, purge=st.booleans())
    def delete(self, place: int, ibi: LabelForms, purge: bool) -> None:
        item = self._find(place, ibi)
        if item is None:
            return
        if not self._allowed(place, ibi, Act.DELETE):
            self._refused(Act.DELETE, lambda: life_cycle.delete(item, self._now(), "why"), item)
            return
        deleted = life_cycle.delete(item, self._now(), "why")
        self.catalogs[place].put(life_cycle.purge(deleted) if purge else deleted)
        self.standing[ibi][place] = Standing.DELETED

    @rule(source=places, place=places, ibi=ibis)
    def copy(self, source: int, place: int, ibi: LabelForms) -> None:
        original, here = self._find(source, ibi), self._find(place, ibi)
        if original is None:
            return
        if original.state is not State.ORIGINAL or not self._allowed(place, ibi, Act.COPY):
            self._refused(Act.COPY, lambda: life_cycle.copy(original, "a.br", here=here), original)
            return
        self.catalogs[place].put(life_cycle.copy(original, f"a{source}.br", here=here))
        self.standing[ibi][place] = Standing.COPY

    @rule(place=places, ibi=ibis)
    def drop(self, place: int, ibi: LabelForms) -> None:
        item = self._find(place, ibi)
        if item is None:
            return
        if not self._allowed(place, ibi, Act.DROP):
            self._refused(Act.DROP, lambda: life_cycle.drop(item, self._now()), item)
            return
        left = life_cycle.drop(item, self._now())
        assert (None if left is None else left.to) == item.transferred_to
        assert self.catalogs[place].remove(item.rep)
        self.standing[ibi][place] = Standing.NOTHING

    @rule(source=places, place=places, ibi=ibis, keep=st.booleans())
    def transfer(self, source: int, place: int, ibi: LabelForms, keep: bool) -> None:
        item, here = self._find(source, ibi), self._find(place, ibi)
        if item is None:
            return
        if item.state is not State.ORIGINAL or not self._allowed(place, ibi, Act.TAKE_OVER):
            self._refused(Act.TAKE_OVER, lambda: life_cycle.take_over(item, here=here), item)
            return
        sent = life_cycle.send_away(item, PROFILES[place].service.labels[0], self._now())
        assert (sent.labels, sent.to) == (item.labels, PROFILES[place].service.labels[0])
        taken = life_cycle.take_over(item, here=here)
        self.catalogs[place].put(taken)
        self.standing[ibi][place] = Standing.ORIGINAL
        self.catalogs[source].remove(item.rep)
        self.standing[ibi][source] = Standing.NOTHING
        if keep:
            self.catalogs[source].put(life_cycle.keep_copy(item, sent, f"a{place}.br"))
            self.standing[ibi][source] = Standing.COPY

    @rule(place=places, old=ibis, new=ibis)
    def follow(self, place: int, old: LabelForms, new: LabelForms) -> None:
        item = self._find(place, old)
        if item is None:
            return
        try:
            linked = editions.record_next_edition(self.catalogs[place], item, new)
        except SecondSuccessor:
            assert self.next[old] != new
        except EditionLoop:
            assert old == new or old in self._line(new) or self._known_line(place, new, old)
        except NotAllowedNow:
            assert not self._allowed(place, old, Act.RELATE)
        else:
            assert self._allowed(place, old, Act.RELATE)
            assert self.next.setdefault(old, new) == new
            self.catalogs[place].put(linked)

    @rule(ibi=consumes(ibis))
    def forget(self, ibi: LabelForms) -> None:
        """Nobody asks about it any more, though it still is where it is: so that others are asked about more often."""

    @rule(target=ibis, place=places, source=ibis, language=languages, path=names)
    def translate(self, place: int, source: LabelForms, language: LanguageTag, path: str) -> LabelForms:
        catalog, labels = self.catalogs[place], self._new_labels()
        held = self._find(place, source)
        known = {} if held is None else translations.group(catalog, held)
        try:
            translations.check_source(catalog, source, language, None)
        except SecondTranslation:
            assert language in known
            return source
        except TranslationOfTranslation:
            assert held is not None
            assert held.translation_of is not None
            return source
        assert language not in known
        made = life_cycle.publish(draft(path, language=language, translation_of=source), labels, self._now())
        catalog.put(made)
        self.standing[labels] = [Standing.NOTHING for _ in ARCHIVES]
        self.standing[labels][place] = Standing.ORIGINAL
        if held is not None and held.state is State.ORIGINAL:
            catalog.put(translations.record_translation(catalog, held, language, labels))
        return labels

    # --- what must always hold --------------------------------------------------------------------------------------

    @invariant()
    def there_is_one_original_of_each_item_unless_it_was_deleted(self) -> None:
        for standings in self.standing.values():
            assert standings.count(Standing.ORIGINAL) + standings.count(Standing.DELETED) == 1

    @invariant()
    def archives_keep_what_the_shadow_says(self) -> None:
        for ibi, standings in self.standing.items():
            for place, expected in enumerate(standings):
                for label in ibi.labels:
                    assert life_cycle.standing_of(self.catalogs[place].find(label)) is expected

    @invariant()
    def answers_say_it_and_only_the_original_is_ever_said_to_be_deleted(self) -> None:
        for ibi, standings in self.standing.items():
            for place, standing in enumerate(standings):
                answer = self._answer(place, ibi)
                if standing is Standing.NOTHING:
                    assert answer is None
                elif standing is Standing.DELETED:
                    assert isinstance(answer, Deletion)
                else:
                    assert isinstance(answer, UrlList)
                    entry = answer.entry()
                    assert entry is not None
                    assert entry.state is not None
                    assert entry.state.value == standing.value

    @invariant()
    def editions_follow_one_another_in_a_line(self) -> None:
        for catalog in self.catalogs:
            for item in catalog.items():
                later = list(editions.later_editions(catalog, item))
                reps = [edition.rep for edition in later if edition is not None]
                assert len(set(reps)) == len(reps)
                assert item.rep not in reps

    @invariant()
    def a_next_edition_once_recorded_is_told_by_the_original(self) -> None:
        for ibi, following in self.next.items():
            for place, standing in enumerate(self.standing[ibi]):
                if standing is Standing.ORIGINAL:
                    answer = self._answer(place, ibi)
                    assert isinstance(answer, UrlList)
                    assert answer.next_edition == following

    @invariant()
    def every_member_of_a_group_answers_for_the_same_languages(self) -> None:
        for catalog in self.catalogs:
            for item in catalog.items():
                source = None if item.translation_of is None else editions.find_forms(catalog, item.translation_of)
                if source is not None and not self._is_claim_of_a_copy(source, item):
                    assert translations.group(catalog, item).keys() == translations.group(catalog, source).keys()

    @staticmethod
    def _is_claim_of_a_copy(source: Item, item: Item) -> bool:
        """Whether an Original here is claimed by a text that another Archive keeps: that waits for its owner."""
        return source.state is State.ORIGINAL and item.state is State.COPY

    # --- means ------------------------------------------------------------------------------------------------------

    def _new_labels(self) -> LabelForms:
        self.minutes += 1
        return forms_at(self.minutes)

    def _now(self) -> Instant:
        self.seconds += 1
        return Instant(self.seconds)

    def _find(self, place: int, ibi: LabelForms) -> Item | None:
        return self.catalogs[place].find(ibi.labels[0])

    def _allowed(self, place: int, ibi: LabelForms, act: Act) -> bool:
        return (self.standing[ibi][place], act) in TABLE

    def _refused(self, act: Act, attempt: object, item: Item) -> None:
        assert callable(attempt)
        try:
            attempt()
        except NotAllowedNow as error:
            assert str(item.rep) in str(error)
            assert act.value in str(error) or isinstance(error, AlreadyThere) or act is Act.TAKE_OVER
            return
        raise AssertionError(f"{act} was not refused")

    def _answer(self, place: int, ibi: LabelForms) -> UrlList | Deletion | None:
        request = UrlRequest(CLIENT, ibi.labels[-1])
        reader = Reader(CLIENT, Instant(self.seconds))
        return assemble_url_list(PROFILES[place], self.catalogs[place], request, reader)

    def _line(self, ibi: LabelForms) -> list[LabelForms]:
        line = [ibi]
        while line[-1] in self.next and self.next[line[-1]] not in line:
            line.append(self.next[line[-1]])
        return line

    def _known_line(self, place: int, new: LabelForms, old: LabelForms) -> bool:
        """Whether this Archive, which may keep a Copy with an older record, sees `old` after `new`."""
        item = self._find(place, new)
        after = [] if item is None else list(editions.later_editions(self.catalogs[place], item))
        return any(edition is not None and edition.is_called(old.labels[0]) for edition in after)


TestNetwork = Network.TestCase
TestNetwork.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
