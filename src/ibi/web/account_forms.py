"""The forms of the pages below `/account`: taken, checked and shown again with an error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from starlette.requests import Request

from ibi.people.rules.sign_in import csrf_of
from ibi.people.service.sign_in import SignedIn
from ibi.standard.errors import IbiError
from ibi.web.reader import (
    PRIVATE,
    ForeignForm,
    Sessions,
    page_language,
    read_form,
    translations,
)


async def _take_form(
    request: Request, sessions: Sessions, signed: SignedIn, answer: Callable[[dict[str, str]], None]
) -> IbiError | None:
    """Let a thread answer the form. Return why it was refused, if readers may know; raise other errors."""
    fields = await read_form(request.scope, request.receive)
    try:
        sessions.check_form(request.scope, fields, signed)
        await asyncio.to_thread(answer, fields)
    except ForeignForm:
        raise
    except IbiError as error:
        if not error.kind.is_told:
            raise
        return error
    return None


def _form_facts(request: Request, signed: SignedIn, error: IbiError | None) -> dict[str, Any]:
    """Return the facts for a page with forms, or for the same page after an `error`."""
    gettext = translations(page_language(request.scope)).gettext
    return {
        "status": HTTPStatus.OK if error is None else error.kind.status,
        "headers": PRIVATE,
        "csrf": csrf_of(signed.text),
        "problem": None if error is None else error.message(gettext),
    }
