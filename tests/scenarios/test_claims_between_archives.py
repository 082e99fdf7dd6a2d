"""Two Archives, each in a process of its own, and a resolver: claims travel, are answered, and survive a kill.

The resolver is that of the second Archive: so one finds pages within its process, and the other over HTTP. A review
service is the library that others use.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from coarnotify.client import COARNotifyClient
from coarnotify.core.notify import NotifyActor, NotifyObject, NotifyService
from coarnotify.patterns import AnnounceReview

from ibi.model.notification import RemoteClaimState, SenderCheck
from ibi.storage.sqlite.notifications import SqliteNotifications
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
        _, b.url = opened.enter_context(b.command.up())
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
