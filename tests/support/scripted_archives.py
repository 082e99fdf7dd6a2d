"""Archives that answer a resolution as a test says, and a loop that drives it without a network or a clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ibi.membership.rules.authority import ArchiveRef, LabelAuthority, Routing
from ibi.resolver.rules.outcome import Outcome
from ibi.resolver.rules.policy import Policy
from ibi.resolver.rules.question import Asking
from ibi.resolver.rules.resolution import Resolution
from ibi.standard.label import Label, parse
from ibi.standard.language_choice import preferences
from ibi.standard.messages import Deletion, LabelForms, UrlList, UrlRequest, ip_addresses, parse_url_list
from ibi.standard.pairs import Pairs
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.reply import Failure

__all__ = ["CLIENTS", "Answer", "KnownHolder", "Script", "archive", "body", "drive", "resolution", "resolve"]

CLIENTS = ip_addresses("172.16.44.200 150.163.68.1")
Answer = bytes | Failure
Script = Callable[[UrlRequest], Answer]


def archive(name: str, **others: object) -> ArchiveRef:
    """An Archive at `<name>.example.org`, whose service was named when `name` says so."""
    service = LabelForms.of(parse(f"example.org/{name}/2008/03.17.15.17"))
    return ArchiveRef(service, f"{name}.example.org", **others)  # type: ignore[arg-type]


def body(of: ArchiveRef, ibi: str, **pairs: str) -> bytes:
    """What an Archive answers, as it travels: `url__lastedition` stands for `url.lastedition`."""
    lines = [
        f"archiveaddress {of.address}",
        f"ibi.archiveservice {{{of.service}}}",
        "ibi.platformsoftware {}",
        f"ibi {{{ibi}}}",
        *(f"{name.replace('__', '.')} {value}" for name, value in pairs.items()),
    ]
    return "\r\n".join(lines).encode()


def read(text: bytes) -> UrlList | Deletion | None:
    return parse_url_list(Pairs.decode(text))


@dataclass
class KnownHolder:
    """Routing that knows who holds the Originals of these labels, which homes they have, who is likely to have any
    item, who is trusted while a home is silent, and to whom homes gave Originals on. `away` are switched off."""

    holders: Mapping[Label, ArchiveRef] = field(default_factory=dict)
    first: tuple[ArchiveRef, ...] = ()
    homes: Mapping[Label, ArchiveRef | tuple[ArchiveRef, ...]] = field(default_factory=dict)
    away: Mapping[Label, LabelForms] = field(default_factory=dict)
    successors: Mapping[Label, tuple[Label, ...]] = field(default_factory=dict)
    trusted: frozenset[ArchiveRef] = frozenset()
    included: tuple[ArchiveRef, ...] = ()
    copy_holders: frozenset[ArchiveRef] = frozenset()
    """Those of the trusted that a home named."""
    signed: bool = False
    """Whether the successors come from signed releases."""

    def likely(self, label: Label, now: float) -> tuple[ArchiveRef, ...]:
        return self.first

    def authority(self, label: Label) -> LabelAuthority:
        home, away = self.homes.get(label, ()), self.away.get(label)
        homes = home if isinstance(home, tuple) else (home,)
        services = () if away is None else (away,)
        return LabelAuthority(
            homes,
            services,
            self.successors.get(label, ()),
            self.trusted,
            self.holders.get(label),
            copy_holders=self.copy_holders,
            is_signed=self.signed,
        )

    def archive(self, service: Label) -> ArchiveRef | None:
        return next((each for each in self.included if service in each.service.labels), None)


def resolution(
    url: str,
    archives: tuple[ArchiveRef, ...],
    languages: str = "",
    *,
    now: float = 0.0,
    routing: Routing | None = None,
    policy: Policy | None = None,
) -> Resolution:
    return Resolution(
        PersistentUrl.parse(url),
        archives,
        CLIENTS,
        preferences(languages),
        now=now,
        routing=routing or KnownHolder(),
        policy=policy or Policy(),
    )


def give(under_way: Resolution, asking: Asking, answer: Answer, now: float) -> None:
    if isinstance(answer, Failure):
        under_way.failure(asking, answer, now)
    else:
        under_way.answer(asking, read(answer), now)


def drive(
    under_way: Resolution, scripts: Mapping[ArchiveRef, Script], now: float = 0.0
) -> tuple[Outcome, list[Asking]]:
    """Answer everything at once, in the order in which it is asked; what was asked is given back."""
    sent: list[Asking] = []
    while under_way.outcome is None:
        due = under_way.requests()
        sent += due
        for asking in due:
            give(under_way, asking, scripts[asking.archive](asking.request), now)
        if not due:
            now = under_way.wake_at
            under_way.advance(now)
    return under_way.outcome, sent


def resolve(url: str, scripts: Mapping[ArchiveRef, Script], languages: str = "", **others: object) -> Outcome:
    return drive(resolution(url, tuple(scripts), languages, **others), scripts)[0]  # type: ignore[arg-type]
