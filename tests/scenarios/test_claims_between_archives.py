"""Two Archives, each in a process of its own, and a resolver: claims travel, are answered, and survive a kill.

The resolver is that of the second Archive: so one finds pages within its process, and the other over HTTP. A review
service is the library that others use.
"""

from __future__ import annotations

import json
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from coarnotify.client import COARNotifyClient
from coarnotify.core.notify import NotifyActor, NotifyObject, NotifyService
from coarnotify.patterns import AnnounceReview

from ibi.claims.model import DeliveryState, RemoteClaimState, SenderCheck
from ibi.claims.rules import Party, Sender, announcement_document
from ibi.claims.store import SqliteNotifications
from ibi.items.model.related_link import ClaimRelation
from tests.scenarios.test_two_servers_membership import KEY
from tests.support.ibi_command import IbiCommand


@dataclass
class Place:
    """An Archive: its command, the variables of its server, and where that is."""

    command: IbiCommand
    variables: dict[str, str]
    url: str = ""

    def run(self, *arguments: str) -> str:
        done = self.command(*arguments, **self.variables)
        assert done.code == 0, done
        return done.out

    def deposit(self, *more: str) -> str:
        made = self.run("deposit", "--url", "http://127.0.0.1:9/", "--title", "Uma tese", *more, "--json")
        return str(json.loads(made)["rep"])

    def record(self, label: str) -> dict[str, Any]:
        with urlopen(f"{self.url}/api/items/{label}", timeout=30) as answer:
            found = json.load(answer)
        assert isinstance(found, dict)
        return found

    def notifications(self) -> closing[SqliteNotifications]:
        return closing(SqliteNotifications(self.command.data))


def wait(look: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.1)


@pytest.fixture
def places(tmp_path: Path) -> Iterator[tuple[Place, Place, ExitStack]]:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    a, b = (Place(IbiCommand(tmp_path / name), {}) for name in ("a", "b"))
    with ExitStack() as opened:
        _, b.url = opened.enter_context(b.command.up(IBI_TRUSTED_PROXIES="127.0.0.0/8"))
        with a.command.up():
            service = str(json.loads(a.run("archive", "status", "--json"))["rep"])
        network = ("--allow-network", "127.0.0.0/8", "--admin-mail", "ana@example.org")
        done = b.command("resolver", "register", service, *network, IBI_REGISTRATION_KEY=KEY)
        assert done.code == 0, done
        a.variables |= {
            "IBI_RESOLVER": b.url,
            "IBI_ARCHIVE_REGISTRATION_KEY": KEY,
            "IBI_ARCHIVE_ADMIN_EMAIL": "banon@dpi.inpe.br",
            "IBI_ARCHIVE_IP": "127.0.0.1",
        }
        yield a, b, opened


def announce_review(place: Place, item: str) -> AnnounceReview:
    """Send a review by the field's own client."""
    review = AnnounceReview()
    review.actor = NotifyActor({"id": "https://r.example", "type": "Service", "name": "Peer Review"})
    review.origin = NotifyService({"id": "https://r.example", "inbox": "https://r.example/inbox", "type": "Service"})
    review.target = NotifyService({"id": place.url, "inbox": f"{place.url}/inbox", "type": "Service"})
    review.context = NotifyObject({"id": f"{place.url}/col/{item}/metadata"})
    review.object = NotifyObject(
        {
            "id": "https://r.example/reviews/1",
            "ietf:cite-as": "https://r.example/reviews/1",
            "type": ["Page", "sorg:Review"],
        }
    )
    sent = COARNotifyClient(f"{place.url}/inbox").send(review)
    assert (sent.action, sent.location) == ("created", f"{place.url}/inbox/2")
    return review


def test_claims_travel_between_two_archives_whatever_is_killed(places: tuple[Place, Place, ExitStack]) -> None:
    a, b, opened = places
    source = b.deposit("--language", "en")
    # Made while no server of A runs, and offered by the next one, which is killed without notice.
    translation = a.deposit("--language", "pt", "--translation-of", source)
    server, a.url = opened.enter_context(a.command.up(**a.variables))
    with b.notifications() as received:
        wait(lambda: any(each.check is SenderCheck.VERIFIED for each in received.received.about(source)))
    server.send_signal(signal.SIGKILL)
    server.wait(30)

    (claim,) = map(json.loads, b.run("claims", "--json").splitlines())
    assert (claim["claimant"], claim["item"], claim["language"]) == (translation, source, "pt")
    assert (claim["archive"], claim["check"]) == (a.url, "verified")
    b.run("claims", source, translation, "--accept")
    assert list(b.record(source)["translations"]) == ["pt"]
    announce_review(b, source)
    b.run("claims", source, "https://r.example/reviews/1", "--accept")
    assert b.record(source)["related"][0]["name"] == "Peer Review"

    # The answer waits until A is back, at another address.
    _, a.url = opened.enter_context(a.command.up(**a.variables))
    with a.notifications() as sent:
        wait(lambda: sent.sent.about(translation)[0].is_confirmed)
        assert sent.sent.about(translation)[0].state is RemoteClaimState.ACCEPTED
    assert list(a.record(translation)["translations"]) == ["en"]

    a.run("relate", translation, "--undo", "--translation-of", source)
    wait(lambda: "translations" not in b.record(source))


LANGUAGES = "pt es fr de it nl sv da fi pl cs hu ro bg el tr ru uk ja ko".split()


class Flood:
    """Strangers of 600 networks, and one beside the Archive, that send all the time; what they were answered."""

    def __init__(self, url: str, item: str) -> None:
        self._place, self._item = urlsplit(url), item
        self._ended, self.statuses = Event(), Counter[int]()
        self._thread = Thread(target=self._send, daemon=True)

    def __enter__(self) -> Flood:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(30)

    def _send(self) -> None:
        with closing(HTTPConnection(self._place.hostname or "", self._place.port, timeout=30)) as connection:
            for number in count():
                if self._ended.is_set():
                    return
                sender = Sender(f"https://s{number}.example", f"https://s{number}.example/inbox", "S")
                url = f"https://s{number}.example/review"
                target = Party(self._place.geturl(), f"{self._place.geturl()}/inbox")
                kind = ClaimRelation.REVIEW
                item = f"{self._place.geturl()}/{self._item}"
                said = announcement_document(sender, target, f"urn:uuid:{number}", kind, url, item)
                headers = {"Content-Type": "application/ld+json"}
                if number % 7:
                    headers["X-Forwarded-For"] = f"10.{number % 600 // 250}.{number % 250}.1"
                connection.request("POST", "/inbox", json.dumps(said).encode(), headers)
                answer = connection.getresponse()
                answer.read()
                self.statuses[answer.status] += 1


def test_a_flood_keeps_out_no_notification_of_a_registered_archive(places: tuple[Place, Place, ExitStack]) -> None:
    a, b, opened = places
    source = b.deposit("--language", "en")
    with a.command.up(**a.variables):
        wait(lambda: json.loads(a.run("archive", "status", "--json")).get("membership") == "included")
    made = {a.deposit("--language", language, "--translation-of", source) for language in LANGUAGES}
    with Flood(b.url, source) as flood:
        wait(lambda: flood.statuses[429] > 600)
        _, a.url = opened.enter_context(a.command.up(**a.variables))

        def arrived() -> bool:
            with b.notifications() as received:
                found = received.received.about(source)
            return {each.claimant[0] for each in found if each.claimant} >= made

        wait(arrived)
        with a.notifications() as sent:
            queued = sent.outgoing.list(tuple(DeliveryState))
        assert [each.attempts for each in queued] == [1] * len(made), "each was taken when it came first"
    assert set(flood.statuses) == {201, 429}
