"""A network of Archives from one seed: who keeps what, who lies, who is slow or dead; and readers that come by.

The honest ones are Archives of this project without their web; time is a number, the network a queue. Between two
readers items are transferred and deleted, Archives fall silent and come back, and liars join. The resolver remembers.
Some Archives are of a platform that does not say where it transferred an item to (R §5.2), and some decide by the
reader's address: to any other they give the URL of a notice (R §9.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from heapq import heappop, heappush
from random import Random
from typing import NamedTuple

from ibi.archive.rules.answer import answer
from ibi.archive.rules.profile import ArchiveProfile
from ibi.items.model.item import Item
from ibi.membership.rules.authority import ArchiveRef, Homes
from ibi.resolver.rules.memory import Memory
from ibi.resolver.rules.outcome import Outcome
from ibi.resolver.rules.policy import ClientAddress, Policy
from ibi.resolver.rules.question import Asking
from ibi.resolver.rules.resolution import Resolution
from ibi.resolver.rules.trace import Trace
from ibi.standard.errors import InvalidInput
from ibi.standard.label import Label
from ibi.standard.messages import State, UrlRequest, parse_url_list
from ibi.standard.messages.identification import UrlKeys
from ibi.standard.pairs import Pairs
from ibi.standard.reply import Failure
from tests.simulator.family import ROUTES, Family, Member, copied, deleted
from tests.simulator.liars import BELIEVABLE, LIARS, Liar, pointers_without_end
from tests.support.archive_catalog import PlainCatalog
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.scripted_archives import CLIENTS, archive, resolution
from tests.support.standards_archives import NOW, UrlibUrls

__all__ = ["NOTICE", "Visit", "World"]

NOTICE = "not-for-you.html"
KEYS = UrlKeys(b"s" * 32)
ORPHANED = "example.org/gone"
"""Where labels were made by a host that has no Archive any more."""


TODAY = 1_800_000_000


class Said(NamedTuple):
    """What an Archive answers, and what it tells in headers."""

    body: bytes
    final: bool | None = None
    transferred_to: Label | None = None


class Weather(Enum):
    """How long an answer takes: less than the hedge delay, less than the patience, more, or for ever."""

    PROMPT = (0.001, 0.15)
    TARDY = (0.25, 0.8)
    SLOW = (1.0, 30.0)
    DEAD = (1.0, 9.0)
    """Nothing comes, and after so long that is certain."""


class Fate(Enum):
    """How the question about one item ends."""

    DECIDED = "its home answers, and the successors that it named"
    BELIEVED = "the holder is heard, and believed before all who lie"
    HOME_SILENT = "its home, or a successor, cannot be heard"
    OPEN = "it cannot be told"


@dataclass(frozen=True)
class Visit:
    """How one reader fared, and what is known of the world that the resolver does not know."""

    url: str
    outcome: Outcome
    trace: Trace
    took: float
    honest_urls: frozenset[str]
    """Wherever an honest Archive has any item of the family."""
    right_urls: frozenset[str]
    """Wherever one has what is wanted, as far as the reader accepts it."""
    is_deleted: bool
    """Whether what is wanted was deleted by its holder."""
    is_certain: bool
    """Whether the honest can be heard, and told from the liars: then the outcome has to be right."""
    is_home_heard: bool
    """Whether every item on the way has a home, and it and the successors that it named answered."""
    is_protected: bool
    """Whether a redirect to a liar would break the rules on homes, whether they answered or not."""
    may_be_disputed: bool
    has_believable_liars: bool


class World:
    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.is_stormy = random.random() < 0.4
        self.is_lossy = self.is_stormy and random.random() < 0.3
        self.honest: dict[ArchiveRef, tuple[ArchiveProfile, PlainCatalog]] = {}
        self.liars: dict[ArchiveRef, Liar] = {}
        self.holders: dict[Member, ArchiveRef] = {}
        self.gone: set[Member] = set()
        self.memory = Memory(MemoryBeliefs())
        self.choosy: set[ArchiveRef] = set()
        """Archives that decide by the reader's address."""
        self.shown = random.choice([ClientAddress.FULL, ClientAddress.NETWORK])
        self.silent_platforms: set[ArchiveRef] = set()
        """Archives that do not say where they transferred an item to."""
        self.sent_away: dict[tuple[ArchiveRef, Member], ArchiveRef] = {}
        self.now = 0.0
        self._settle()
        self.family = Family({member: self._birthplace() for member in Member})
        self._stock()
        for _ in range(random.choice([0, 0, 1, 1, 2])):
            self._join_liar()
        self._archives()

    # --- who there is ---

    def _settle(self) -> None:
        for number in range(self.random.randint(1, 5)):
            vouched = self.random.random() < 0.2
            ref = archive(f"a{number}", registered=self.random.randrange(100), vouched=vouched)
            if self.random.random() < 0.3:
                self.silent_platforms.add(ref)
            if self.random.random() < 0.3:
                self.choosy.add(ref)
            follow, filtered = self.random.random() < 0.5, self.random.random() < 0.5
            urls = UrlibUrls(ref.address)
            profile = ArchiveProfile(ref.address, ref.service, urls, follow_editions=follow, filtered=filtered)
            self.honest[ref] = profile, PlainCatalog()

    def _join_liar(self) -> None:
        kinds = {**LIARS, **BELIEVABLE}
        ref = archive(f"liar{len(self.liars)}", registered=self.random.randrange(150))
        self.liars[ref] = kinds[self.random.choice(list(kinds))]

    def _archives(self) -> None:
        archives = [*self.honest, *self.liars]
        self.random.shuffle(archives)
        self.archives = tuple(archives)
        self.homes = Homes.of_archives(self.archives)
        self.memory.include(self.archives, self.homes, TODAY)

    # --- who keeps what ---

    def _birthplace(self) -> str:
        if self.random.random() < 0.15:
            return ORPHANED
        return self.random.choice(list(self.honest)).service.labels[0].prefix

    def _stock(self) -> None:
        for member, original in self.family.items.items():
            home = next((ref for ref in self.honest if ref.service.labels[0].prefix == original.rep.prefix), None)
            stays = home is not None and self.random.random() < 0.7
            holder = home if stays and home is not None else self.random.choice(list(self.honest))
            self.holders[member] = holder
            if home is not None and holder != home:
                self.sent_away[home, member] = holder
            self.honest[holder][1].put(original)
            for ref in self.honest:
                if ref != holder and self.random.random() < 0.25:
                    self.honest[ref][1].put(copied(original, self.random))

    def _time_passes(self) -> None:
        self.now += self.random.choice([1.0, 60.0, 400.0])
        happens = self.random.random()
        if happens < 0.3:
            self._transfer(self.random.choice(list(Member)))
        elif happens < 0.4:
            self._delete(self.random.choice(list(Member)))
        elif happens < 0.6:
            self._join_liar()
            self._archives()

    def _transfer(self, member: Member) -> None:
        """R §5.2: the Original moves; a Copy may stay behind."""
        if member in self.gone:
            return
        old, new = self.holders[member], self.random.choice(list(self.honest))
        if old == new:
            return
        original = self.family.items[member]
        if self.random.random() < 0.5:
            self.honest[old][1].put(copied(original, self.random))
        else:
            self.honest[old][1].remove(original.rep)
        self.honest[new][1].put(original)
        self.holders[member] = new
        self.sent_away[old, member] = new
        self.sent_away.pop((new, member), None)

    def _delete(self, member: Member) -> None:
        self.gone.add(member)
        self.honest[self.holders[member]][1].put(deleted(self.family.items[member]))

    def _urls(self, member: Member, states: tuple[State, ...]) -> frozenset[str]:
        item = self.family.items[member]
        kept = {ref: catalog.find(item.rep) for ref, (_, catalog) in self.honest.items()}
        return frozenset(UrlibUrls(ref.address).file(item, "text.pdf") for ref in kept if _is_in(kept[ref], states))

    # --- a reader ---

    def visits(self, policy: Policy | None = None) -> Iterator[Visit]:
        for number in range(self.random.randint(1, 5)):
            if number:
                self._time_passes()
            yield self._visit(policy)

    def _visit(self, policy: Policy | None) -> Visit:
        modifier, original = self.random.choice(list(ROUTES)), self.random.random() < 0.25
        route = ROUTES[modifier]
        self._change_weather()
        url = f"{self.family.labels[Member.FIRST].labels[0]}{modifier}"
        if original:
            url += "?ibiurl.requireditemstatus=Original"
        states = (State.ORIGINAL,) if original else (State.ORIGINAL, State.COPY)
        believable = [ref for ref, liar in self.liars.items() if liar in BELIEVABLE.values()]
        fates = [self._fate(member, modifier, believable) for member in route]
        certain = all(fate is not Fate.OPEN and fate is not Fate.HOME_SILENT for fate in fates)
        calm = not self.is_lossy and self.gone.isdisjoint(route[:-1])
        misleading = believable or pointers_without_end in self.liars.values()
        if not self.gone.isdisjoint(route) and misleading and Fate.BELIEVED in fates:
            certain = False  # once it is gone, any other is followed where there is no home
        began = self.now
        outcome, trace = self._resolve(url, policy)
        return Visit(
            url,
            outcome,
            trace,
            self.now - began,
            frozenset().union(*(self._urls(member, tuple(State)) for member in Member)),
            self._urls(route[-1], states),
            route[-1] in self.gone,
            certain and calm,
            calm and all(fate is Fate.DECIDED for fate in fates),
            all(fate in (Fate.DECIDED, Fate.HOME_SILENT) for fate in fates),
            original and bool(believable) and Fate.BELIEVED in fates,
            bool(believable),
        )

    def _change_weather(self) -> None:
        self.weather = dict.fromkeys(self.archives, Weather.PROMPT)
        if self.is_stormy:
            self.weather = {ref: self.random.choice(list(Weather)) for ref in self.archives}
        self.crashes = {ref: self.random.uniform(0, 2) for ref in self.archives if self.random.random() < 0.1}
        if not self.is_stormy:
            self.crashes = {}

    def _fate(self, member: Member, modifier: str, believable: list[ArchiveRef]) -> Fate:
        """How the question about one item on the way ends, judged without the code that is tried."""
        label = self.family.labels[member].labels[0]
        home = next((ref for ref in self.honest if ref.service.labels[0].prefix == label.prefix), None)
        if home is None:
            return Fate.BELIEVED if self._can_be_believed(member, modifier, believable) else Fate.OPEN
        asked, holder = self._successors_of(member, home), self.holders[member]
        if asked[-1] != holder or self._is_disputed(label, asked):
            # R §5.2: one claim of the Original is followed, of several none. What is said of a relation does not tell
            # whether it is an old Copy that says it. Where a successor was named that does not have it, only the home
            # and those who are trusted are followed (E66).
            heard = all(map(self._is_heard, (*asked, holder, *self._remembered(label))))
            alone = not believable and pointers_without_end not in self.liars.values() and len(asked) == 1
            return Fate.BELIEVED if heard and alone and not self.gone and not modifier else Fate.OPEN
        return Fate.DECIDED if all(map(self._is_heard, asked)) else Fate.HOME_SILENT

    def _successors_of(self, member: Member, home: ArchiveRef) -> list[ArchiveRef]:
        """The home, and those to whom the Original was given on, as far as they say so."""
        asked = [home]
        while (asked[-1], member) in self.sent_away and asked[-1] not in self.silent_platforms:
            following = self.sent_away[asked[-1], member]
            if following in asked:
                break
            asked.append(following)
        return asked

    def _is_disputed(self, label: Label, asked: list[ArchiveRef]) -> bool:
        """Whether a successor is remembered to which those who are asked now do not lead."""
        return any(ref not in asked for ref in self._remembered(label))

    def _remembered(self, label: Label) -> list[ArchiveRef]:
        """The successors that the home named once: one of them that is silent is waited for, and not passed over."""
        known = self.memory.authority(label).successors
        return [ref for ref in self.archives if ref.service.labels[0] in known]

    def _is_heard(self, ref: ArchiveRef) -> bool:
        return ref not in self.crashes and self.weather[ref] in (Weather.PROMPT, Weather.TARDY)

    def _can_be_believed(self, member: Member, modifier: str, believable: list[ArchiveRef]) -> bool:
        """Of an item without a home: whether its holder is heard in time, and no liar is believed before it."""
        holder, weather = self.holders[member], self.weather[self.holders[member]]
        if holder in self.crashes or weather in (Weather.SLOW, Weather.DEAD):
            return False
        if member in self.gone and (believable or pointers_without_end in self.liars.values()):
            return False  # once it is gone, anybody else is followed
        if weather is Weather.TARDY and believable:
            return False  # after the hedge delay anybody's Copy is as good
        label = self.family.labels[member].labels[0]
        if len(modifier) > 1 and modifier[0] == "!" and believable:
            return False  # what is said of the next step does not tell whether it is the holder who says it
        if self.memory.holder(label) == holder:
            return True
        if any(ref in believable for ref in self.memory.likely(label, self.now)):
            return False  # one of them was chosen while others were silent, and is asked first for a while
        # Nobody knows who would have to be waited for.
        if weather is Weather.TARDY and ("!" in modifier or modifier == "+"):
            return False
        # One liar may point to what only the other has.
        endless = [ref for ref, liar in self.liars.items() if believable and liar is pointers_without_end]
        return all(holder.registered < liar.registered for liar in (*believable, *endless))

    def _resolve(self, url: str, policy: Policy | None) -> tuple[Outcome, Trace]:
        """With every message sent over the simulated network."""
        began = self.now
        policy = replace(policy or Policy(), client_address=self.shown)
        under_way = resolution(url, self.archives, "pt", now=began, routing=self.memory, policy=policy)
        network: list[tuple[float, int, Asking, Said | None]] = []
        count = 0
        while under_way.outcome is None:
            for asking in under_way.requests():
                for _ in range(2 if self.random.random() < 0.05 else 1):
                    count += 1
                    heappush(network, (*self._sent(asking, count, began),))
            if network and network[0][0] <= under_way.wake_at:
                self.now, _, asking, said = heappop(network)
                deliver(under_way, asking, said, self.now)
            else:
                self.now = under_way.wake_at
                under_way.advance(self.now)
        self.memory.learn(under_way.trace, under_way.outcome, self.now)
        return under_way.outcome, under_way.trace

    def _sent(self, asking: Asking, count: int, began: float) -> tuple[float, int, Asking, Said | None]:
        """When something comes back, and what; None if nothing ever does."""
        ref, weather = asking.archive, self.weather[asking.archive]
        arrives = self.now + self.random.uniform(*weather.value)
        crashed = ref in self.crashes and arrives > began + self.crashes[ref]
        lost = self.is_lossy and self.random.random() < 0.1
        said = None if weather is Weather.DEAD or crashed or lost else self._said_by(ref, asking.request)
        if said is None:
            arrives = self.now + self.random.uniform(*Weather.DEAD.value)
        return arrives, count, asking, said

    def _said_by(self, ref: ArchiveRef, request: UrlRequest) -> Said:
        if ref in self.liars:
            body = self.liars[ref](ref, request, self.random)
            final = self.random.choice([True, False, False, False, None])
            return Said(body, final, transferred_to=ref.service.labels[0])
        profile, catalog = self.honest[ref]
        body = answer(profile, catalog, request.to_query(), NOW, 1, KEYS)[0]
        if ref in self.choosy and request.client_addresses != CLIENTS:
            body = body.replace(b"/doc/text.pdf", b"/doc/" + NOTICE.encode())
        member = next((each for each, forms in self.family.labels.items() if request.label in forms.labels), None)
        receiver = None if member is None or ref in self.silent_platforms else self.sent_away.get((ref, member))
        if receiver is not None:
            return Said(body, transferred_to=receiver.service.labels[0])
        # One of our make tells of what it has not that this is not certain (E62).
        return Said(body, final=None if body or ref in self.silent_platforms else False)


def _is_in(kept: Item | None, states: tuple[State, ...]) -> bool:
    return kept is not None and kept.state in states


def deliver(under_way: Resolution, asking: Asking, said: Said | None, now: float) -> None:
    if said is None:
        under_way.failure(asking, Failure.TIMED_OUT, now)
        return
    try:
        read = parse_url_list(Pairs.decode(said.body))
    except InvalidInput:
        under_way.failure(asking, Failure.MALFORMED, now)
    else:
        under_way.answer(asking, read, now, final=said.final, transferred_to=said.transferred_to)
