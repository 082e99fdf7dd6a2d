"""What the core's values cost, as µs and as a ratio to reading a UUID with the standard library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID, uuid5

import ibi
from bench.measurement import Measurement, over
from ibi.standard.clock import SECOND, next_tick
from ibi.standard.instant import Instant
from ibi.standard.label import Ibip, RepositoryName
from ibi.standard.label.grammar import decode_prefix
from ibi.standard.label.label import canonical_prefix
from ibi.standard.messages.url_list import UrlList, parse_url_list
from ibi.standard.pairs import Pairs
from ibi.standard.persistent_url import PersistentUrl

__all__ = ["REFERENCE", "measurements"]

PARSE_AIM = 3.0
"""Reading a label takes at most three times as long as reading a UUID."""

TEXTS = 10_000
"""Different texts in each measurement, the reference's too: a parser that always reads the same one is flattered."""
START = 1_234_806_360  # 2009-02-16T17:46:00Z, the standard's own example
NAMESPACE = UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")

REFERENCE = over("uuid.UUID(text)", UUID, (str(uuid5(NAMESPACE, str(number))) for number in range(TEXTS)))


def instants(count: int) -> Iterator[Instant]:
    """Dates of which most have seconds, as in use."""
    return (Instant(START + 4_099 * number) for number in range(count))


def repository_names(count: int, hosts: int) -> list[str]:
    return [
        str(RepositoryName.from_parts(f"mtc-m{number % hosts}.sid.inpe.br", 80, date))
        for number, date in enumerate(instants(count))
    ]


def ibips(count: int, hosts: int) -> list[str]:
    return [
        str(Ibip.from_parts(f"150.163.{number % hosts // 250}.{number % hosts % 250 + 1}", 800, date))
        for number, date in enumerate(instants(count))
    ]


def measurements() -> list[Measurement]:
    return [*parsing(), *rendering(), *minting(), *wire(), *links()]


def parsing() -> Iterator[Measurement]:
    yield over("parse a repository name, one prefix", ibi.parse, repository_names(TEXTS, 1), PARSE_AIM)
    yield over(f"parse a repository name, {TEXTS:,} prefixes", ibi.parse, repository_names(TEXTS, TEXTS), PARSE_AIM)
    yield over("parse an IBIp, one prefix", ibi.parse, ibips(TEXTS, 1), PARSE_AIM)
    yield over(f"parse an IBIp, {TEXTS:,} prefixes", ibi.parse, ibips(TEXTS, TEXTS), PARSE_AIM)
    # Prefixes are remembered, because a network has hundreds of minters and millions of labels. What one costs on top
    # when it was never seen before has no aim, but is shown.
    names = [text.rsplit("/", 2)[0] for text in repository_names(TEXTS, TEXTS)]
    yield over("  on top, a prefix of names never seen", canonical_prefix.__wrapped__, names)
    prefixes = [text.split("/")[0] for text in ibips(TEXTS, TEXTS)]
    yield over("  on top, a prefix of IBIps never seen", decode_prefix.__wrapped__, prefixes)


def rendering() -> Iterator[Measurement]:
    yield render("render a repository name", repository_names(TEXTS, 1))
    yield render("render an IBIp", ibips(TEXTS, 1))


def render(name: str, texts: list[str]) -> Measurement:
    labels = [ibi.parse(text) for text in texts]
    return Measurement(name, lambda: [str(label) for label in labels], len(labels))


def minting() -> Iterator[Measurement]:
    """The clock and the generator, without the disk: one label of either form a second."""
    yield Measurement("mint a repository name", mint(repository_name), TEXTS)
    yield Measurement("mint an IBIp", mint(ibip), TEXTS)


def repository_name(date: Instant) -> str:
    return str(RepositoryName.from_parts("mtc-m18.sid.inpe.br", 80, date))


def ibip(date: Instant) -> str:
    return str(Ibip.from_parts("150.163.34.243", 800, date))


def mint(name: Callable[[Instant], str]) -> Callable[[], None]:
    nows = [Instant(START + number, "394023") for number in range(TEXTS)]

    def call() -> None:
        last = None
        for now in nows:
            last = next_tick(now, last, SECOND).date
            name(last)

    return call


def wire() -> Iterator[Measurement]:
    """The longest answer the standard prints, misprints corrected (E30): as pairs, and as a typed answer."""
    body = (Path(__file__).parent / "example_9_2.txt").read_bytes()
    pairs = Pairs.decode(body)
    answer = parse_url_list(pairs)
    assert isinstance(answer, UrlList)
    assert answer.to_pairs() == pairs
    yield Measurement("decode R Example 9.2 to pairs", lambda: Pairs.decode(body))
    yield Measurement("decode R Example 9.2 to an answer", lambda: parse_url_list(Pairs.decode(body)))
    yield Measurement("encode R Example 9.2 from pairs", pairs.encode)
    yield Measurement("encode R Example 9.2 from an answer", answer.encode)


def links() -> Iterator[Measurement]:
    bare = [f"/{text}" for text in ibips(TEXTS, 1)]
    yield over("parse a persistent URL, label only", PersistentUrl.parse, bare)
    full = [f"{text}!:(oai_dc)?ibiurl.requireditemstatus=Original&lang=pt" for text in bare]
    yield over("parse a persistent URL, modifier and query", PersistentUrl.parse, full)
