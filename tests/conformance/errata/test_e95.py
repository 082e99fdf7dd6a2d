"""E95: `ibi:<label>` and `./ibi/<label>` in documents work through whichever Archive serves them."""

from __future__ import annotations

from hashlib import sha512

from ibi.web.request import repr_digest
from tests.support.archive_app import BASE, REP, archive_app, kept

LABEL = "8JMKD3MGP8W/35MME4E"
DOCUMENT = f'<a href="ibi:{LABEL}">one</a> <a href="./ibi/{LABEL}">other</a>'.encode()
BROWSER = {"accept": "text/html,*/*;q=0.8"}


async def test_both_links_lead_to_resolution_at_the_archive_that_shows_the_document() -> None:
    app = archive_app(kept(REP, files={"pages/a.html": ("text/html", DOCUMENT)}))
    sent = await app.get(f"/col/{REP}/doc/pages/a.html", BROWSER)
    view = await app.get(sent.headers["location"].removeprefix(BASE), BROWSER)
    assert f'href="{BASE}/ibi/{LABEL}">one' in view.body.decode()
    relative = await app.get(f"/col/{REP}/doc/pages/ibi/{LABEL}", BROWSER)
    assert relative.headers["location"] == f"{BASE}/ibi/{LABEL}"


async def test_what_was_deposited_stays_as_it_is_at_its_address() -> None:
    app = archive_app(kept(REP, files={"pages/a.html": ("text/html", DOCUMENT)}))
    answer = await app.get(f"/col/{REP}/doc/pages/a.html")
    assert answer.body == DOCUMENT
    assert answer.headers["repr-digest"] == repr_digest(sha512(DOCUMENT).hexdigest())
