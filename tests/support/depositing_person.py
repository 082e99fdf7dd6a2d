"""A person who is signed in to the web application with an Archive, and sends its forms as a browser does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ibi.people.model.account import Person, Role
from ibi.people.rules.sign_in import csrf_of, new_session
from ibi.standard.instant import Instant
from ibi.web.reader import SESSION_COOKIE
from tests.support.asgi_client import Answer, ask
from tests.support.form_bodies import FORM, file_part, form, part
from tests.support.memory.people import MemoryPeople
from tests.support.records_app import RecordsApp


class DepositingPerson:
    def __init__(self, app: RecordsApp, people: MemoryPeople, name: str = "lia", role: Role = Role.DEPOSITOR) -> None:
        self.app = app
        person = Person(name, role, Instant(0))
        people.add(person)
        text, session = new_session(name.encode().ljust(32, b"."), person, app.clocks.read().wall)
        people.open_session(session, person)
        self.cookie, self.csrf = {"cookie": f"{SESSION_COOKIE}={text}"}, csrf_of(text)

    async def get(self, path: str, **headers: str) -> Answer:
        return await ask(self.app.app, "GET", path, {"accept": "text/html", **self.cookie, **headers})

    async def send(
        self,
        path: str,
        fields: Mapping[str, str],
        files: Sequence[tuple[str, bytes]] = (),
        headers: Mapping[str, str] | None = None,
        csrf: str | None = None,
    ) -> Answer:
        """Send a form with files, which stand before all fields but the first."""
        token = self.csrf if csrf is None else csrf
        body = form(
            part('form-data; name="csrf"', token.encode()),
            *(file_part(name, content) for name, content in files),
            *(part(f'form-data; name="{name}"', text.encode()) for name, text in fields.items()),
        )
        sent = {"accept": "text/html", "sec-fetch-site": "same-origin", **FORM, **self.cookie, **(headers or {})}
        return await ask(self.app.app, "POST", path, sent, body)

    async def begin(self, files: Sequence[tuple[str, bytes]] = (), **fields: str) -> str:
        """The address of a draft with these fields and files."""
        answer = await self.send("/deposit", {"act": "save", **fields}, files)
        assert answer.status == 303, answer.body.decode()
        return answer.headers["location"].partition("?")[0]
