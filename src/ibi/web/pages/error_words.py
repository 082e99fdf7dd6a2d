"""Sentences of the errors that a browser is likely to show, marked for translation. Any other error is shown in
English.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from ibi.web.pages.translation import message

_TITLES: Final[Mapping[int, str]] = {
    HTTPStatus.BAD_REQUEST: message("That cannot be read"),
    HTTPStatus.FORBIDDEN: message("That is not open to you"),
    HTTPStatus.NOT_FOUND: message("There is no such thing here"),
    HTTPStatus.METHOD_NOT_ALLOWED: message("That cannot be done here"),
    HTTPStatus.GONE: message("That was deleted"),
}
_ANY_TITLE: Final = message("That did not work")

SENTENCES: Final = (
    message("There is nothing here."),
    message("{method} is not possible here, only {allowed}."),
    message("{label} has no file {path}."),
    message("{label} is not here in the language asked for; there is: {offered}."),
    message("There is nothing here that {relation} would lead to from {label}."),
    message("What is asked for of {label} is not here but in another Archive: {known}."),
    message("Here is a copy of {label}; its Original is in another Archive."),
    message("format: metadata is not written as {given}, only as {offered}."),
    message("The depositor of {label} does not want its files listed."),
    message("There is no item {label} here."),
    message("{quoted} is not an IBI: {reason}."),
    message("{quoted} is not a persistent URL: {reason}."),
    message("This form is not from a page of this site as it is now: go back, load the page again and repeat it."),
    message("A page of another site sent this request. It was not done."),
    message("Something went wrong here, and not with your request. The log tells it under {request}."),
    message("This server is starting: it reads anew what it keeps. Nothing is lost; ask again later."),
    message("This server is stopping."),
    message(
        "There are too many connections from the address of your network, which many people may share: wait"
        " {retry_after} seconds and try again."
    ),
    message("This server has as many connections as it can take: wait {retry_after} seconds and try again."),
    message("The server has too many files open to open another one: wait {retry_after} seconds and try again."),
    message(
        "What is kept of {name} is damaged ({problem}): {reason}. It has to be restored from a backup or from another"
        " Archive, and then verified: `ibi verify {name}`."
    ),
    message("{path} of {name} is being checked before a part of it is given out: try again in {retry_after} seconds."),
    message("Many want to see in full how links are resolved: wait {retry_after} seconds and try again."),
    message("Very many links are being looked for at other Archives: wait {retry_after} seconds and try again."),
    message("body: it did not arrive within {seconds} s."),
    message("body: it is larger than {most} bytes."),
    message("{field}: the body has to be {wanted}."),
    message("Accept: the answer can be had as {offered} only."),
    message(
        "This server has no pages for the host {host}: use {url} instead. If {host} is a name of this server, its"
        " administrator can add the name to the setting hosts."
    ),
)
"""Templates of error messages; a test compares them with the errors themselves."""


def title_of(status: int) -> str:
    return _TITLES.get(status, _ANY_TITLE)
