"""Our resolver beside Archives of another make (`tests/foreign`), each a process of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from tests.foreign.archive import ibip_of
from tests.foreign.processes import ForeignProcess, foreign
from tests.support.home_world import in_process
from tests.support.ibi_command import IbiCommand

KEY: Final = "7730914258-7730914258"
BROWSER: Final = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
FILE: Final = "Relat%f3rio%20Final.pdf"
"""R Example 6.2: the name of a file in ISO 8859-1."""
_SETTINGS: Final = {
    "IBI_ROLES": "resolver",
    "IBI_RESOLVE_BUDGET": "20",
    "IBI_RESOLVE_HEDGE_DELAY": "0.02",
    "IBI_RESOLVE_MISSES_PER_NETWORK": "0",
}


@dataclass(frozen=True)
class Followed:
    """What a reader gets for a link; redirects are not followed."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def location(self) -> str:
        return self.headers.get("location", "")


def follow(address: str, target: str, reader: str = "127.0.0.1", **headers: str) -> Followed:
    """As a reader with that address, which is one of this machine."""
    host, _, port = address.partition(":")
    with closing(HTTPConnection(host, int(port), timeout=60, source_address=(reader, 0))) as connection:
        connection.request("GET", target, headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        return Followed(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())


@dataclass
class ForeignWorld:
    """A resolver of ours, and the foreign Archives that it includes."""

    path: Path
    stack: ExitStack
    resolver: IbiCommand = field(init=False)
    address: str = ""

    def __post_init__(self) -> None:
        (self.path / "resolver").mkdir()
        self.resolver = IbiCommand(self.path / "resolver", log=self.path / "resolver.log")

    def start(self, **settings: str) -> None:
        _, url = self.stack.enter_context(self.resolver.up("--log-level", "warning", **{**_SETTINGS, **settings}))
        self.address = url.removeprefix("http://").rstrip("/")

    def register(self, service: str, *flags: str, key: str = KEY, forms: str = "both") -> None:
        labels = (service,) if forms == "rep" else (service, ibip_of(service))
        network = ("--allow-network", "127.0.0.0/8")
        in_process(self.resolver, "resolver", "register", *labels, *network, *flags, IBI_REGISTRATION_KEY=key)

    def archive(self, service: str, *, host: str = "127.0.0.1") -> ForeignProcess:
        """A foreign Archive that is registered and included."""
        self.register(service)
        started = self.stack.enter_context(foreign("archive", "--service", service, "--host", host))
        told = started("include", resolver=self.address, key=KEY)
        assert told == "status.archive included status.confirmation successful", told
        return started

    def follow(self, target: str, reader: str = "127.0.0.1", **headers: str) -> Followed:
        return follow(self.address, target, reader, **headers)


@contextmanager
def foreign_world(path: Path, **settings: str) -> Iterator[ForeignWorld]:
    with ExitStack() as stack:
        world = ForeignWorld(path, stack)
        world.start(**settings)
        yield world


def related_items(
    date: str, style: Mapping[str, Any], prefix_of: Callable[[str], str] | None = None
) -> dict[str, dict[str, Any]]:
    """A work in two editions, each in two languages, and the metadata of each in two languages: by their names.

    `1en` is the first edition in English, `1en:pt` what is said of it in Portuguese. `date` goes without its minute,
    and with a prefix unless `prefix_of` tells it by the name.
    """
    texts = ("1en", "1pt", "2en", "2pt")
    names = [*texts, *(f"{text}:{language}" for text in texts for language in ("en", "pt"))]
    prefixes = {name: "" if prefix_of is None else f"{prefix_of(name)}/" for name in names}
    labels = {name: f"{prefixes[name]}{date}.{number:02}" for number, name in enumerate(names)}
    items: dict[str, dict[str, Any]] = {}
    for name, rep in labels.items():
        text, _, about = name.partition(":")
        of = f"{text}:" if about else text[0]
        items[name] = {
            "rep": rep,
            "files": ["metadata.txt"] if about else [FILE, "reference.bib"],
            "kind": "Metadata" if about else "Data",
            "translations": {language: labels[f"{of}{language}"] for language in ("en", "pt")},
            "next_edition": labels[f"2{name[1:]}"] if name in ("1en", "1pt") else "",
            "metadata": "" if about else labels[f"{name}:en"],
            "style": dict(style),
        }
    return items


def asked_about(archive: ForeignProcess, label: str, subject: str = "urlRequest") -> list[str]:
    """The requests with that subject that named the label, as they came."""
    return [
        each
        for each in archive("requests")
        if f"servicesubject={subject}" in each
        and any(form.lower() in unquote(each).lower() for form in (label, ibip_of(label)))
    ]


def sent(request: str, name: str) -> str | None:
    """The value of a pair as it came, still encoded."""
    pairs = dict(pair.partition("=")[::2] for pair in request.partition("?")[2].split("&"))
    return pairs.get(name)


def until(holds: Callable[[], bool]) -> None:
    """Something that another process does a little later."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.02)
