"""A network of Archives from one seed: who keeps what, who lies, who is slow or dead; and a resolution in it.

The honest ones are Archives of this project without their web; time is a number, the network a queue.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from heapq import heappop, heappush
from random import Random

from ibi.archive.answer import answer
from ibi.archive.profile import ArchiveProfile
from ibi.archive.url_key import UrlKeys
from ibi.errors import InvalidInput
from ibi.label import Label
from ibi.messages import LabelForms, State, UrlRequest, parse_url_list
from ibi.model.item import Item
from ibi.pairs import Pairs
from ibi.resolver.archive_ref import ArchiveRef
from ibi.resolver.outcome import Outcome
from ibi.resolver.policy import Policy
from ibi.resolver.question import Asking
from ibi.resolver.resolution import Resolution
from ibi.resolver.trace import Failure
from tests.archive_catalog import PlainCatalog
from tests.scripted_archives import archive, resolution
from tests.simulator.liars import BELIEVABLE, LIARS, Liar
from tests.standards_archives import NOW, UrlibUrls, forms, item

__all__ = ["Run", "World"]

KEYS = UrlKeys(b"s" * 32)
FIRST, SECOND = "example.org/lib/2010/01.01.00.01", "example.org/lib/2020/01.01.00.01"
LEADS_TO = {"": FIRST, "!": SECOND, "!+": SECOND, "+": FIRST, "+!": SECOND}


def edition(number: int) -> Item:
    return item(
        (FIRST, SECOND)[number],
        at="2015-03-15T02:40:14Z",
        files=("text.pdf",),
        next_edition=forms(SECOND) if number == 0 else None,
        edition_of=forms(FIRST) if number == 1 else None,
    )


def copied(original: Item, stale: bool) -> Item:
    kept = replace(original, state=State.COPY, source="a0.example.org")
    return replace(kept, next_edition=None) if stale else kept


@dataclass(frozen=True)
class Run:
    """How one resolution went."""

    seed: int
    world: World
    outcome: Outcome
    ended_at: float
    label: Label


class World:
    """`calm`: the honest answer, and quickly; then the right outcome is certain. Otherwise anything may happen."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.seed = seed
        self.calm = random.random() < 0.6
        self.original = random.random() < 0.3
        self.modifier = random.choice(list(LEADS_TO))
        self.honest: dict[ArchiveRef, tuple[ArchiveProfile, PlainCatalog]] = {}
        self.liars: dict[ArchiveRef, Liar] = {}
        self._people_honest(random)
        self._people_liars(random)
        self.archives = [*self.honest, *self.liars]
        random.shuffle(self.archives)
        slow = [] if self.calm else random.sample(self.archives, random.randrange(len(self.archives) + 1))
        self.slow, self.dead = set(slow[::2]), set(slow[1::2])

    def _people_honest(self, random: Random) -> None:
        refs = [archive(f"a{number}") for number in range(random.randint(1, 4))]
        kept: dict[ArchiveRef, list[Item]] = {ref: [] for ref in refs}
        for number in (0, 1):
            original = edition(number)
            home = random.choice(refs)
            kept[home].append(original)
            for ref in refs:
                if ref != home and random.random() < 0.3:
                    # Only for a relation that begins with it is a next edition looked for in all answers (SPEC §7).
                    stale = self.modifier[:1] == "!" and random.random() < 0.5
                    kept[ref].append(copied(original, stale))
        for ref, items in kept.items():
            follow, filtered = random.random() < 0.5, random.random() < 0.5
            urls = UrlibUrls(ref.address)
            profile = ArchiveProfile(ref.address, ref.service, urls, follow_editions=follow, filtered=filtered)
            self.honest[ref] = profile, PlainCatalog(*items)

    def _people_liars(self, random: Random) -> None:
        kinds = {**LIARS, **(BELIEVABLE if self.original else {})}
        for number in range(random.randint(0, 3)):
            self.liars[archive(f"liar{number}")] = kinds[random.choice(list(kinds))]

    @property
    def url(self) -> str:
        return f"{FIRST}{self.modifier}{'?ibiurl.requireditemstatus=Original' if self.original else ''}"

    @property
    def right_urls(self) -> set[str]:
        """Wherever an honest Archive has what is wanted."""
        wanted = forms(LEADS_TO[self.modifier])
        return {f"http://{ref.address}/col/{wanted.labels[0]}/doc/text.pdf" for ref in self._keepers(wanted)}

    def _keepers(self, wanted: LabelForms) -> list[ArchiveRef]:
        found = {ref: catalog.find(wanted.labels[0]) for ref, (_, catalog) in self.honest.items()}
        allowed = (State.ORIGINAL,) if self.original else (State.ORIGINAL, State.COPY)
        return [ref for ref, kept in found.items() if kept is not None and kept.state in allowed]

    def said_by(self, asking: Asking) -> bytes | None:
        """What an Archive answers; None if nothing ever comes."""
        ref, request = asking.archive, asking.request
        if ref in self.dead or (not self.calm and self.random.random() < 0.1):
            return None
        if ref in self.liars:
            return self.liars[ref](ref, request, self.random)
        return self._honestly(ref, request)

    def _honestly(self, ref: ArchiveRef, request: UrlRequest) -> bytes:
        profile, catalog = self.honest[ref]
        return answer(profile, catalog, request.to_query(), NOW, 1, KEYS)[0]

    def delay(self, ref: ArchiveRef) -> float:
        return self.random.uniform(0.3, 30.0) if ref in self.slow else self.random.uniform(0.001, 0.15)

    def run(self, policy: Policy | None = None) -> Run:
        """Resolve, with every message sent over the simulated network."""
        under_way = resolution(self.url, tuple(self.archives), policy=policy)
        network: list[tuple[float, int, Asking, bytes | None]] = []
        now, count = 0.0, 0
        while under_way.outcome is None:
            for asking in under_way.requests():
                said, repeats = self.said_by(asking), 2 if self.random.random() < 0.05 else 1
                for _ in range(repeats):
                    count += 1
                    late = self.random.uniform(1, 9) if said is None else self.delay(asking.archive)
                    heappush(network, (now + late, count, asking, said))
            if network and network[0][0] <= under_way.wake_at:
                now, _, asking, said = heappop(network)
                deliver(under_way, asking, said, now)
            else:
                now = under_way.wake_at
                under_way.elapsed(now)
        return Run(self.seed, self, under_way.outcome, now, under_way.trace.hops[-1].label)


def deliver(under_way: Resolution, asking: Asking, said: bytes | None, now: float) -> None:
    if said is None:
        under_way.failure(asking, Failure.TIMED_OUT, now)
        return
    try:
        read = parse_url_list(Pairs.decode(said))
    except InvalidInput:
        under_way.failure(asking, Failure.MALFORMED, now)
    else:
        under_way.answer(asking, read, now)
