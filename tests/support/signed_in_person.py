"""A person who is signed in to the web application with an Archive, and sends its forms as a browser does. Short: one
class."""

from __future__ import annotations

from urllib.parse import urlencode

from ibi.people.model.account import Person, Role
from ibi.people.rules.sign_in import csrf_of, new_session
from ibi.standard.instant import Instant
from ibi.web.reader import SESSION_COOKIE
from tests.support.asgi_client import Answer, ask
from tests.support.memory.people import MemoryPeople
from tests.support.records_app import RecordsApp

_FORM = "application/x-www-form-urlencoded"


class SignedInPerson:
    def __init__(self, app: RecordsApp, people: MemoryPeople, name: str, role: Role, shown: str = "") -> None:
        self.app = app
        person = Person(name, role, Instant(0), shown=shown)
        people.add(person)
        text, session = new_session(name.encode().ljust(32, b"."), person, app.clocks.read().wall)
        people.open_session(session, person)
        self.cookie, self.csrf = {"cookie": f"{SESSION_COOKIE}={text}"}, csrf_of(text)

    async def get(self, path: str, **headers: str) -> Answer:
        sent = {
            "accept": "text/html",
            **self.cookie,
            **{name.replace("_", "-"): text for name, text in headers.items()},
        }
        return await ask(self.app.app, "GET", path, sent)

    async def post(self, path: str, fields: dict[str, str], csrf: str | None = None, **headers: str) -> Answer:
        body = urlencode({"csrf": self.csrf if csrf is None else csrf, **fields}).encode()
        sent = {"accept": "text/html", "content-type": _FORM, "sec-fetch-site": "same-origin", **self.cookie}
        sent |= {name.replace("_", "-"): text for name, text in headers.items()}
        return await ask(self.app.app, "POST", path, sent, body)
