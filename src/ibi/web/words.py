"""Words for readers, in their language: errors, faults of labels, requests and traces.

A test compares them with the reasons in the code. A reason that is missing here is shown in English.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, NamedTuple, assert_never

from ibi.items.model.item import Item
from ibi.items.model.metadata import ResourceType, issue_date
from ibi.membership.rules.authority import StandIn
from ibi.membership.rules.membership import failure_code
from ibi.resolver.rules.answers import Reason
from ibi.resolver.rules.outcome import (
    Deleted,
    LoopDetected,
    NoArchiveAnswered,
    NotFound,
    OriginalDisputed,
    OriginalNotFound,
    Outcome,
    Redirect,
    RelatedItemMissing,
    UnprovenClaims,
)
from ibi.resolver.rules.trace import AskedAgain, Outranking, Report, Verdict
from ibi.standard.instant import Instant
from ibi.standard.languages import LanguageTag
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.relation import LastEdition, Metadata, Relation, Step, Translation
from ibi.standard.reply import Failure
from ibi.standard.safe_text import shorten
from ibi.standard.vocabulary import State
from ibi.transfers.model import OpenProblem
from ibi.web.reader import message
from ibi.web.sites import ArchiveSite

_TITLES: Final[Mapping[int, str]] = {
    HTTPStatus.BAD_REQUEST: message("Invalid request"),
    HTTPStatus.FORBIDDEN: message("Access denied"),
    HTTPStatus.NOT_FOUND: message("Page not found"),
    HTTPStatus.METHOD_NOT_ALLOWED: message("Not allowed here"),
    HTTPStatus.GONE: message("Deleted"),
}
_ANY_TITLE: Final = message("An error occurred")


def title_of(status: int) -> str:
    return _TITLES.get(status, _ANY_TITLE)


FAULT_REASONS: Final = (
    # ibi.standard.label
    message("it is empty"),
    message("it is longer than any IBI ({most} characters)"),
    message("there is white space around it"),
    message("{character} does not occur in an IBI"),
    message("a repository name has four parts (sid.inpe.br/mtc-m18/2009/02.16.17.46), an IBIp two, this {count}"),
    message("a host name has at least two words, as in www.example.org"),
    message("a host name has at most {most} characters"),
    message("a port is a number, not {port}"),
    message("a port is at least 1"),
    message("a port is written without leading zeros"),
    message("a port is at most 65535"),
    message("the last word of a domain begins with a letter"),
    message("a word of the host name is missing"),
    message("a word of a host name has at most {most} characters"),
    message("{sign} does not occur in a host name"),
    message("a word of a host name neither begins nor ends with a hyphen"),
    message("a year has four digits, {year} has not"),
    message("a year lies between 1000 and 9999"),
    message("after the year come month, day, hour and minute, and perhaps second and fraction, with dots between"),
    message("{number} should be two digits"),
    message("there is no month {month}"),
    message("29 February does not exist in {year}"),
    message("{day} {month} does not exist"),
    message("there is no hour {hour}"),
    message("there is no minute {minute}"),
    message("there is no second {second}"),
    message("a fraction of a second consists of digits, {digits} does not"),
    message("a fraction of a second has at most {most} digits"),
    message("its first two parts are an IBIp; what follows them is a path"),
    message("an IBIp has two parts, as in 8JMKD3MGP8W/34PGRBS"),
    message("one of its two parts is missing"),
    message("{sign} does not occur in an IBIp"),
    message("before the slash there is exactly one W or X, between address and port"),
    message("the address before W or X is missing or begins with 2, the digit zero"),
    message("the port begins with 2, the digit zero"),
    message("port 800 is left out of an IBIp"),
    message("the port is greater than 65535"),
    message("what stands before the slash is no IP address"),
    message("after the slash there is at most one W, before a fraction of a second, and no X"),
    message("the seconds are missing or begin with 2, the digit zero"),
    message("the fraction of a second is missing or zero"),
    message("the fraction of a second ends in zero or has more than {most} digits"),
    message("the date lies after the year 9999"),
    message("no generator makes it"),
    # ibi.standard.persistent_url
    message("there is no label in it"),
    message("punctuation follows the label; perhaps {suggestion} was meant"),
    message("{character} cannot follow the label"),
    message("a query holds no control characters"),
    message("{name} is there twice"),
    message("the only status that can be required is Original"),
    message("a path has no backslash"),
    message("a path has no control characters"),
    message("a path has no part . or .."),
    message("a path ends in the name of a file, not in /"),
    message("a part of the path is empty"),
    message("it holds half a surrogate pair"),
    message("it is longer than {most} characters"),
    # ibi.standard.relation, as far as a link has one
    message(
        "last edition and translation come first, in either order and once each, then metadata, then a translation of"
        " it"
    ),
    message("a modifier is made of !, +, +(language), : and :(format)"),
    message("the verbs are GetLastEdition, GetTranslation, GetMetadata and GetFileList"),
    message("last edition takes nothing in parentheses"),
    message("a metadata format is a name such as oai_dc"),
    # ibi.standard.languages
    message("a language is two or three letters, perhaps with a country, as in pt or pt-BR"),
    message("there is no language {language}"),
    message("there is no country {country}"),
    # ibi.resolver.api.persistent_url_app
    message("it can be {known} only"),
)


@dataclass(frozen=True, slots=True)
class Wish:
    """One part of a link. `sign` is its spelling, `words` its meaning. `detail` and the name of `language` follow
    them."""

    sign: str
    words: str
    detail: str | None = None
    language: LanguageTag | None = None


def wishes(url: PersistentUrl) -> tuple[Wish, ...]:
    return tuple(_wishes(url))


def _wishes(url: PersistentUrl) -> Iterator[Wish]:
    for step in url.relation.steps:
        yield _step(step)
    if url.file_list:
        yield Wish("GetFileList", message("the list of its files"))
    if url.shown_path is not None:
        yield Wish("/", message("the file"), url.shown_path[1:])
    if url.required_original:
        yield Wish("Original", message("the Original, not a Copy"))
    if url.language is not None:
        yield Wish("language", message("for a reader of"), language=LanguageTag.parse(url.language, registered=False))
    if url.query:
        yield Wish("?", message("with this query passed on to the item"), url.query_string)


def _step(step: Step) -> Wish:
    sign = Relation((step,)).modifier
    match step:
        case LastEdition():
            return Wish(sign, message("its last edition"))
        case Translation(None):
            return Wish(sign, message("its translation into a language that the reader understands"))
        case Translation(language):
            return Wish(sign, message("its translation into"), language=language)
        case Metadata(None):
            return Wish(sign, message("its metadata"))
        case Metadata(name):
            return Wish(sign, message("its metadata in the format"), name)


VERDICTS: Final[Mapping[Verdict, str]] = {
    Verdict.CHOSEN: message("found: this URL is used"),
    Verdict.FOLLOWED: message("ask for another item"),
    Verdict.DISPUTED: message("claims the Original, as does another Archive"),
    Verdict.OUTRANKED: message("an answer, but not the best"),
    Verdict.UNPROVEN: message("an unproven claim"),
    Verdict.NOT_THE_ORIGINAL: message("a Copy, not the Original"),
    Verdict.NOT_FOLLOWED: message("a referral already followed"),
    Verdict.OF_NO_USE: message("neither a URL nor a referral"),
    Verdict.EMPTY: message("not found"),
    Verdict.DELETED: message("it was deleted"),
    Verdict.DISBELIEVED: message("an answer that breaks a rule"),
    Verdict.FAILED: message("no answer"),
    Verdict.LATE: message("an answer, too late"),
    Verdict.SILENT: message("no answer in time"),
}

FAILURES: Final[Mapping[Failure, str]] = {
    Failure.UNREACHABLE: message("could not be reached"),
    Failure.UNKNOWN_NAME: message("its name was not found"),
    Failure.CONNECTION_REFUSED: message("refused the connection"),
    Failure.BAD_CERTIFICATE: message("its certificate was not accepted"),
    Failure.TIMED_OUT: message("took too long"),
    Failure.RESTING: message("failed too often, not asked"),
    Failure.FORBIDDEN_ADDRESS: message("an address that may not be contacted"),
    Failure.OWN_ADDRESS: message("the address of this server itself"),
    Failure.REFUSED: message("refused the request"),
    Failure.MALFORMED: message("an answer that cannot be read"),
    Failure.TOO_LARGE: message("an answer that is too large"),
    Failure.UNREADABLE: message("the required part of it cannot be read"),
}

FAILURES_BY_CODE: Final[Mapping[str, str]] = {failure_code(failure): words for failure, words in FAILURES.items()}
"""The same by the code that a registration keeps (E73)."""

RULES: Final[Mapping[str, str]] = {
    "is_about_the_item": message("it is about another item"),
    "speaks_for_itself": message("it names another Archive than the one asked"),
    "is_on_a_declared_host": message("its URL is on a host that the Archive did not declare"),
    "has_bearable_length": message("its URL is too long"),
}
"""Messages for a broken rule of `ibi.resolver.rules.policy`, by the name of the rule."""

OUTRANKINGS: Final[Mapping[Outranking, str]] = {
    Outranking.HOME: message("the home of the label decides"),
    Outranking.HOLDER: message("the holder takes precedence"),
    Outranking.LATER_EDITION: message("another knows of a later edition"),
    Outranking.URL: message("another has the URL itself"),
    Outranking.ORIGINAL: message("another has the Original"),
    Outranking.LONGER: message("another Archive has been registered longer"),
    Outranking.SOONER: message("another equivalent answer came first"),
}

STAND_INS: Final[Mapping[StandIn, str]] = {
    StandIn.COPY: message("the home does not answer, and named this Archive as a holder of Copies"),
    StandIn.VOUCHED: message("the home does not answer, and this Archive is trusted"),
    StandIn.APPOINTED: message("the home does not answer, and this Archive was named in its place"),
}

ASKED_AGAIN: Final[Mapping[AskedAgain, str]] = {
    AskedAgain.AWAITED: message("asked again with the reader's address"),
    AskedAgain.HEARD: message("asked again with the reader's address: this is the second answer"),
    AskedAgain.UNHEARD: message("asked again with the reader's address: no answer, so the first one was taken"),
    AskedAgain.NO_TIME: message("no time to ask again with the reader's address, so the first answer was taken"),
}

TRACE_REASONS: Final[Mapping[Reason, str]] = {
    Reason.GIVEN: message("the request"),
    Reason.PREFIX: message("part of the request leads there"),
    Reason.RELATED: message("the request leads there"),
    Reason.NEXT_EDITION: message("the next edition"),
    Reason.LATER_EDITION: message("a later edition than the Copy"),
    Reason.NO_NEXT_EDITION: message("there is no later edition"),
    Reason.ANY_LANGUAGE: message("in any language"),
    Reason.NO_TRANSLATION: message("no suitable translation"),
    Reason.BEGINNING: message("the beginning of the request alone"),
}


def verdict_words(report: Report) -> str:
    """Return the verdict on an answer in words. A valid answer with an invalid URL still has a URL."""
    if report.broken_rule is not None and report.verdict in (Verdict.OUTRANKED, Verdict.OF_NO_USE):
        return message("a URL that is not trusted")
    return VERDICTS[report.verdict]


def outcome_words(outcome: Outcome) -> str:
    match outcome:
        case Redirect():
            return message("resolved")
        case NotFound():
            return message("no Archive has this item")
        case Deleted():
            return message("this item was deleted")
        case RelatedItemMissing():
            return message("the item was found, but not what was requested of it")
        case OriginalNotFound():
            return message("only Copies found, no Original")
        case OriginalDisputed():
            return message("more than one Archive claims the Original")
        case LoopDetected():
            return message("the editions form a loop")
        case NoArchiveAnswered():
            return message("no Archive that could have it answered")
        case UnprovenClaims():
            return message("an unproven claim")
    assert_never(outcome)


ELEMENTS: Final[Mapping[str, str]] = {
    "contributor": message("Contributors"),
    "publisher": message("Publisher"),
    "date": message("Date"),
    "subject": message("Subjects"),
    "coverage": message("Coverage"),
    "language": message("Language of the text"),
    "type": message("Type"),
    "format": message("Format"),
    "source": message("Source"),
    "relation": message("Related to"),
    "rights": message("Rights"),
    "identifier": message("Other identifiers"),
}
"""Elements in the order of a page. Titles, creators and descriptions have places of their own there."""

KINDS: Final[Mapping[ResourceType, str]] = {
    ResourceType.COLLECTION: message("Collection"),
    ResourceType.DATASET: message("Dataset"),
    ResourceType.EVENT: message("Event"),
    ResourceType.IMAGE: message("Image"),
    ResourceType.INTERACTIVE_RESOURCE: message("Interactive resource"),
    ResourceType.MOVING_IMAGE: message("Moving image"),
    ResourceType.PHYSICAL_OBJECT: message("Physical object"),
    ResourceType.SERVICE: message("Service"),
    ResourceType.SOFTWARE: message("Software"),
    ResourceType.SOUND: message("Sound"),
    ResourceType.STILL_IMAGE: message("Still image"),
    ResourceType.TEXT: message("Text"),
}

STATES: Final[Mapping[State, str]] = {
    State.ORIGINAL: message("Original"),
    State.COPY: message("Copy"),
    State.DELETED: message("Deleted"),
}

STATE_MEANINGS: Final[Mapping[State, str]] = {
    State.ORIGINAL: message("This Archive keeps the Original."),
    State.COPY: message("The Original is kept by another Archive; this is a Copy."),
    State.DELETED: message("The Original was kept here and has been deleted."),
}

OPEN_MEANINGS: Final = {
    OpenProblem.IN_DOUBT: message("The Original belongs here, and other Archives have to answer first."),
    OpenProblem.NOT_TAKEN: message(
        "This Archive gave the Original away, and the other Archive does not say it has it."
    ),
    OpenProblem.NOT_FETCHED: message("The Original belongs here, and no Archive that was asked has its files."),
    OpenProblem.CONTRADICTED: message("The record of transfers of this item contradicts what this Archive keeps."),
}
OPEN_REMEDIES: Final = {
    OpenProblem.IN_DOUBT: message("This server goes on asking. It can be told to go on without them."),
    OpenProblem.NOT_TAKEN: message(
        "This server tells the other Archive again every minute. If that has stopped, its staff start it."
    ),
    OpenProblem.NOT_FETCHED: message("This server asks again every minute. An Archive that keeps a Copy can help."),
    OpenProblem.CONTRADICTED: message("The staff of the Archives and of the resolver decide where the Original is."),
}
UNCONFIRMED: Final = message("State being confirmed")
UNCONFIRMED_MEANING: Final = message("It is being confirmed whether this Archive still keeps the Original.")


LONGEST: Final = 300
"""Largest number of characters of a title, a name or a subject in a list."""
_MOST_TITLES: Final = 100
_FIRST_YEAR: Final = 1970
"""Earlier dates are shown in digits."""


def short(text: object, longest: int = LONGEST) -> str:
    """Return the text, shortened to at most `longest` characters."""
    return shorten(str(text), longest)


def shown_title(item: Item, longest: int = LONGEST) -> str:
    """Return the first title in the item's own language, or else the first title, or else the item's name."""
    titles = item.metadata.title[:_MOST_TITLES]
    own = (text for text in titles if item.language is not None and text.language == item.language)
    return short(next(own, titles[0] if titles else item.rep), longest)


class WorkDate(NamedTuple):
    """The publication date of a work, as exactly as it is known."""

    iso: str
    instant: Instant | None
    """A moment in the month or on the day, if more than the year is known."""
    has_day: bool


def work_date(item: Item) -> WorkDate | None:
    """Return the publication date, or None if the description has none."""
    issued = issue_date(item.metadata)
    if issued is None:
        return None
    iso = str(issued)
    if issued.month is None or issued.year < _FIRST_YEAR:
        return WorkDate(iso, None, has_day=False)
    noon = Instant.parse(f"{issued.year:04}-{issued.month:02}-{issued.day or 1:02}T12:00:00Z")
    return WorkDate(iso, noon, has_day=issued.day is not None)


class ItemListing:
    """The words of items in a list, for one page. They are English, and are translated where they are shown."""

    kinds = KINDS
    title = staticmethod(shown_title)
    issued = staticmethod(work_date)

    def __init__(self, site: ArchiveSite) -> None:
        self.urls, self._now = site.urls, site.now

    def access(self, item: Item) -> str | None:
        """Return why access to the content is restricted; None if it is open to all readers."""
        if item.visibility.is_embargoed(self._now):
            return message("Embargo")
        return message("Restricted access") if item.visibility.networks else None
