"""One stranger who asks very often: what is remembered and counted because of it has an end."""

from __future__ import annotations

import re

from ibi.usage.rules.counting import MOST_COUNTED, Recent
from tests.support.archive_app import REP, SERVICE, ArchiveApp, archive_app, kept


def acknowledgment(key: str, clients: str) -> str:
    said = f"clientinformation.ipaddress={clients}&contenttype=Data&url=http://a.b/&url.persistent=http://a.b/"
    return f"/{SERVICE.labels[0]}?servicesubject=acknowledgment&{said}&urlkey={key}"


async def key_from(app: ArchiveApp) -> str:
    asked = f"servicesubject=urlRequest&clientinformation.ipaddress=192.0.2.1&parsedibiurl.ibi={REP}"
    answer = await app.get(f"/{SERVICE.labels[0]}?{asked}")
    found = re.search(rb"urlkey \{?([0-9]+-[0-9]+)", answer.body)
    assert found is not None
    return found[1].decode()


async def test_one_key_is_not_a_hundred_thousand_readers() -> None:
    app = archive_app(kept(REP), recent=Recent(most_counted=50))
    key = await key_from(app)
    for number in range(200):
        answer = await app.get(acknowledgment(key, f"2001:db8::{number:x}"))
        assert answer.status == 200
    (_, usage), *_ = app.usage.days(kept(REP)[0].rep)
    assert usage.resolutions == 50
    assert (await app.get(acknowledgment(await key_from(app), "192.0.2.2"))).status == 200
    (_, usage), *_ = app.usage.days(kept(REP)[0].rep)
    assert usage.resolutions == 51


def test_what_a_server_counts_of_one_key_has_an_end() -> None:
    recent = archive_app(kept(REP)).site.uses.recent
    assert sum(recent.is_within_share("key") for _ in range(MOST_COUNTED + 10)) == MOST_COUNTED


async def test_one_acknowledgment_after_a_flood_does_not_wait_for_the_whole_of_it() -> None:
    app = archive_app(kept(REP))
    key, recent = await key_from(app), app.site.uses.recent
    for number in range(2000):
        recent.is_first(number, app.clocks.seconds())
    app.clocks.advance(31)
    await app.get(acknowledgment(key, "192.0.2.3"))
    assert len(recent) > 1900, "each that comes forgets a few"
    for number in range(200):
        await app.get(acknowledgment(key, f"192.0.2.{number % 4}"))
    assert len(recent) < 10
