"""The chain of releases and countersignatures that an item keeps: it proves where the Original is.

Link 1 is the release by which the first Archive gave the Original away. Link 2 is the countersignature of the Archive
that took it. Link 3 is the release by which that Archive gave it on, and so on. Each link is a signed statement
(`ibi.standard.signing`) with its number and the digest of the link before it. So no link can be left out, moved or
replayed. A release names the receiver by its service and its key, and the content by the digest of its manifest.

A countersignature has no date. Ed25519 signatures are deterministic. So an Archive that was restored from a backup and
takes the Original over again makes the same link, and no second chain.

A chain does not show which Archive has the first signer's key: `check_chain` asks for that. Every later signer was
named by the link before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from hashlib import sha512
from typing import Any, Final

import msgspec

from ibi.items.model.item import name_one_item
from ibi.items.model.item_json import forms_document, read_forms, read_instant, read_label
from ibi.standard.document_errors import InvalidDocument
from ibi.standard.errors import InvalidInput
from ibi.standard.instant import Instant
from ibi.standard.json_fields import Fields, decode_document, integer, of_string, string
from ibi.standard.label import Label
from ibi.standard.messages.answers import resolver_service
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import PublicKey, SigningKey, Statement, read_statement, sign_statement

RELEASE: Final = "release"
COUNTERSIGNATURE: Final = "countersignature"
FOLDER: Final = "provenance/"
"""The folder of the links among the logical files of an item's object."""
MOST_LINKS: Final = 64
"""The most links in one chain. A chain of an item that moved more than 32 times is not believed, despite valid
signatures."""
LONGEST_LINK: Final = 8192
"""Characters of one statement."""
_LONGEST_ACCEPTANCE: Final = 4096
"""Characters of an acceptance within a release. The release must stay shorter than `LONGEST_LINK`."""
_REMEMBERED: Final = 4096
"""Size of the cache of checked links. Each link is read many times while its item moves."""
_SCHEMA: Final = 1
_LINK: Final = re.compile(r"provenance/[0-9]+\.json")


class InvalidProvenance(InvalidInput):
    """{quoted} does not prove where the Original is: {reason}."""

    code = "invalid-provenance"
    request_field = "chain"


IsKeyOf = Callable[[Label, PublicKey], bool]
"""A function that tells whether a key is the present or a former key of the Archive with this service."""


@dataclass(frozen=True, slots=True)
class Release:
    """The statement by which an Archive gives an Original away."""

    labels: LabelForms
    number: int
    previous: str | None
    """The digest of the link before; None for the first."""
    giver: Label
    to: Label
    to_key: PublicKey
    manifest: str
    at: Instant
    by: Label | None = None
    """The service of the resolver that signed in place of a lost giver (E97). None if the giver signed."""
    acceptance: str | None = None
    """The statement that the receiver signed when it held the Copy. It shows a receiver that was restored from an older
    backup that it agreed (E102). None in releases of earlier versions."""

    @property
    def speaker(self) -> Label:
        """The service that must have signed it."""
        return self.giver if self.by is None else self.by


@dataclass(frozen=True, slots=True)
class Countersignature:
    """The statement by which a receiver takes the Original."""

    labels: LabelForms
    number: int
    previous: str
    by: Label
    manifest: str


@dataclass(frozen=True, slots=True)
class ProvenanceLink:
    """One stored link: the statement, its signer and its parsed content."""

    text: str
    signer: PublicKey
    said: Release | Countersignature

    @property
    def digest(self) -> str:
        return digest_of(self.text)

    @property
    def speaker(self) -> Label:
        """The service that must have signed it."""
        return self.said.speaker if isinstance(self.said, Release) else self.said.by


@dataclass(frozen=True, slots=True)
class Chain:
    """The checked links of one item. Each follows from the one before."""

    links: tuple[ProvenanceLink, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(link.text for link in self.links)

    @property
    def next_number(self) -> int:
        return len(self.links) + 1

    @property
    def last_digest(self) -> str | None:
        return self.links[-1].digest if self.links else None

    @property
    def first_release(self) -> Release | None:
        return None if not self.links else _release(self.links[0])

    @property
    def last_release(self) -> Release | None:
        """The latest release, countersigned or not."""
        return next((link.said for link in reversed(self.links) if isinstance(link.said, Release)), None)

    @property
    def is_under_way(self) -> bool:
        """True if the receiver of the last release has not countersigned yet. At the moment no Archive says
        Original."""
        return bool(self.links) and isinstance(self.links[-1].said, Release)

    @property
    def successors(self) -> tuple[Label, ...]:
        """The services that received the Original, in order. The last one has it, or is about to have it."""
        return tuple(link.said.to for link in self.links if isinstance(link.said, Release))


NO_CHAIN: Final = Chain()
"""The chain of an item that never moved."""


class ChainOrder(Enum):
    """The relation of an incoming chain to the known chain."""

    SAME = "the same"
    NEWER = "goes on from it"
    OLDER = "a beginning of it"
    FORKED = "another one"
    """Two releases have the same number: an Archive signed contradictory statements. The known chain stays, and people
    decide."""


def compare_chains(known: Sequence[str], found: Sequence[str]) -> ChainOrder:
    """Compare two chains as texts. Dates do not count: the signer chooses them."""
    shared = min(len(known), len(found))
    if tuple(known[:shared]) != tuple(found[:shared]):
        return ChainOrder.FORKED
    if len(known) == len(found):
        return ChainOrder.SAME
    return ChainOrder.NEWER if len(found) > len(known) else ChainOrder.OLDER


def manifest_digest(files: Mapping[str, str]) -> str:
    """Return the digest of an item: of the SHA-512 of each of its logical files `item.json` and `doc/**`.

    Files that an Archive writes beside them are its own, and are not included.
    """
    lines = sorted(
        f"{digest.lower()}  {path}\n" for path, digest in files.items() if path == "item.json" or path[:4] == "doc/"
    )
    return sha512("".join(lines).encode()).hexdigest()


def digest_of(text: str) -> str:
    return sha512(text.encode("ascii", "replace")).hexdigest()


def sign_release(
    chain: Chain,
    labels: LabelForms,
    giver: Label,
    to: Label,
    to_key: PublicKey,
    manifest: str,
    at: Instant,
    key: SigningKey,
    *,
    by: Label | None = None,
    acceptance: str | None = None,
) -> Chain:
    """Return the chain with one more release.

    The chain must not be under way: an Original that was given away cannot be given again. `by` is the service that
    signs in place of a lost giver. `acceptance` is the statement that the receiver signed.
    """
    assert not chain.is_under_way
    claims = {
        "labels": forms_document(labels),
        "number": chain.next_number,
        "previous": chain.last_digest,
        "from": giver.spelling,
        "to": to.spelling,
        "to_key": str(to_key),
        "manifest": manifest,
        "at": str(at),
        **({} if by is None else {"by": by.spelling}),
        **({} if acceptance is None or len(acceptance) > _LONGEST_ACCEPTANCE else {"acceptance": acceptance}),
    }
    return _extend_chain(chain, sign_statement(RELEASE, claims, key))


def countersign(chain: Chain, key: SigningKey) -> Chain:
    """Return the chain with the countersignature of the receiver of its last release, which is under way."""
    release = chain.last_release
    assert chain.is_under_way
    assert release is not None  # a chain under way ends with a release
    claims = {
        "labels": forms_document(release.labels),
        "number": chain.next_number,
        "previous": chain.last_digest,
        "by": release.to.spelling,
        "manifest": release.manifest,
    }
    return _extend_chain(chain, sign_statement(COUNTERSIGNATURE, claims, key))


def _extend_chain(chain: Chain, text: str) -> Chain:
    return Chain((*chain.links, read_link(text, chain.next_number)))


@lru_cache(maxsize=_REMEMBERED)
def read_link(text: str, number: int) -> ProvenanceLink:
    """Return the link of that number; odd numbers are releases. Only the signature is checked."""
    if len(text) > LONGEST_LINK:
        raise InvalidProvenance(text, LONGEST_LINK, "a link has at most {most} characters", most=LONGEST_LINK)
    kind, read = (RELEASE, _read_release) if number % 2 else (COUNTERSIGNATURE, _read_countersignature)
    try:
        statement = read_statement(text, kind)
        return ProvenanceLink(text, statement.signer, read(Fields(statement.claims, f"link {number}")))
    except InvalidInput as error:
        raise InvalidProvenance(text, 0, "link {number}: {cause}", number=number, cause=_cause(error)) from error


def check_chain(
    texts: Iterable[str], is_key_of: IsKeyOf, labels: LabelForms | None = None, *, known: tuple[str, ...] = ()
) -> Chain:
    """Return the chain if every link follows from the one before.

    Raise `InvalidProvenance`, which names the first link that does not follow.

    `is_key_of` says whether the key of the first signer belongs to the Archive that it names. It is asked again where
    an Archive signs with another key than the link before named. `labels` are those of the item that the chain must be
    about. The signers of a `known` chain are not asked again, because keys are replaced over time.
    """
    links: list[ProvenanceLink] = []
    for number, text in enumerate(texts, 1):
        if number > MOST_LINKS:
            raise InvalidProvenance(text, 0, "a chain has at most {most} links", most=MOST_LINKS)
        link = read_link(text, number)
        _check_place(link, links, labels)
        if known[number - 1 : number] != (text,):
            _check_signer(link, links, is_key_of)
        links.append(link)
    return Chain(tuple(links))


def _check_place(link: ProvenanceLink, before: Sequence[ProvenanceLink], labels: LabelForms | None) -> None:
    said, number = link.said, len(before) + 1
    wanted = labels if not before else before[0].said.labels
    if said.number != number:
        raise _refusal(link, number, "it says that it is link {said}", said=said.number)
    if said.previous != (before[-1].digest if before else None):
        raise _refusal(link, number, "it follows another link than the one before it")
    if wanted is not None and not name_one_item(said.labels, wanted):
        raise _refusal(link, number, "it is about {other}", other=str(said.labels.labels[0]))
    earlier = _last_release(before)
    if isinstance(said, Release):
        _check_giver(link, said, earlier)
    elif earlier is None or (said.by, said.manifest) != (earlier.to, earlier.manifest):
        raise _refusal(link, number, "it countersigns something else than the release before it")


def _check_giver(link: ProvenanceLink, said: Release, earlier: Release | None) -> None:
    """Raise `InvalidProvenance` unless the giver had the Original when it gave it away."""
    if earlier is not None and said.giver != earlier.to:
        raise _refusal(link, said.number, "{giver} did not have the Original", giver=str(said.giver))
    if earlier is not None and said.at < earlier.at:
        raise _refusal(link, said.number, "it is dated before the release that came before it")
    if said.to == said.giver:
        raise _refusal(link, said.number, "an Archive gives nothing to itself")


def _check_signer(link: ProvenanceLink, before: Sequence[ProvenanceLink], is_key_of: IsKeyOf) -> None:
    named, said = _last_release(before), link.said
    stands_in = isinstance(said, Release) and said.by is not None
    if named is not None and link.signer == named.to_key and not stands_in:
        return
    if before and link.signer == before[-1].signer and isinstance(before[-1].said, Countersignature) and not stands_in:
        return
    who = link.speaker
    if not is_key_of(who, link.signer):
        raise _refusal(link, len(before) + 1, "{key} is not a key of {who}", key=str(link.signer), who=str(who))


def _last_release(links: Sequence[ProvenanceLink]) -> Release | None:
    return Chain(tuple(links)).last_release


def _release(link: ProvenanceLink) -> Release | None:
    return link.said if isinstance(link.said, Release) else None


def _refusal(link: ProvenanceLink, number: int, reason: str, **details: object) -> InvalidProvenance:
    return InvalidProvenance(link.text, 0, f"link {{number}}: {reason}", number=number, **details)


def _cause(error: InvalidInput) -> str:
    return error.reason.format(**error.details)


_read_key = of_string(PublicKey.parse)
_HEX: Final = frozenset("0123456789abcdef")


def _read_digest(value: object, path: str) -> str:
    text = string(value, path)
    if len(text) != 128 or not _HEX.issuperset(text):
        raise InvalidDocument(text, 0, "it is not a SHA-512 in small hexadecimal digits")
    return text


def _read_previous(value: object, path: str) -> str | None:
    return None if value is None else _read_digest(value, path)


def _read_release(fields: Fields) -> Release:
    """Return the release. Members that a later version added are signed too, but ignored here."""
    return Release(
        fields.required("labels", read_forms),
        fields.required("number", integer),
        fields.required("previous", _read_previous),
        fields.required("from", read_label),
        fields.required("to", read_label),
        fields.required("to_key", _read_key),
        fields.required("manifest", _read_digest),
        fields.required("at", read_instant),
        _read_speaker(fields),
        fields.nullable("acceptance", string),
    )


def _read_speaker(fields: Fields) -> Label | None:
    """Return the service that signs in place of the giver, or None. Only a resolver may do so."""
    by = fields.nullable("by", read_label)
    if by is not None and by != resolver_service():
        raise InvalidDocument(str(by), 0, "it is not the service of a resolver")
    return by


def _read_countersignature(fields: Fields) -> Countersignature:
    return Countersignature(
        fields.required("labels", read_forms),
        fields.required("number", integer),
        fields.required("previous", _read_digest),
        fields.required("by", read_label),
        fields.required("manifest", _read_digest),
    )


def link_path(number: int) -> str:
    return f"{FOLDER}{number}.json"


def encode_link(link: ProvenanceLink) -> bytes:
    """Return the file of a link: the statement, which counts, and its content for people."""
    kind = RELEASE if isinstance(link.said, Release) else COUNTERSIGNATURE
    statement: Statement = read_statement(link.text, kind)
    document: dict[str, Any] = {
        "schema": _SCHEMA,
        "kind": kind,
        "signer": str(link.signer),
        "says": statement.claims,
        "statement": link.text,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def decode_link(body: bytes) -> str:
    """Return the statement of a file, unchecked."""
    fields = Fields(decode_document(body), "provenance")
    fields.check_schema(_SCHEMA)
    return fields.required("statement", string)


def check_files(files: Mapping[str, bytes], labels: LabelForms) -> Chain:
    """Return the chain among the further files of an object that a stranger sent.

    Check everything that the files show, but not the owners of the keys. Raise `InvalidProvenance`, which names the
    file.
    """
    paths = link_paths(files)
    beyond = next((path for path in files if _LINK.fullmatch(path) and path not in paths), None)
    if beyond is not None:
        raise InvalidProvenance(beyond, 0, "a link before it is missing")
    texts = []
    for path in paths:
        try:
            texts.append(decode_link(files[path]))
        except InvalidInput as error:
            raise InvalidProvenance(path, 0, "{cause}", cause=_cause(error)) from error
    return check_chain(texts, lambda _who, _key: True, labels)


def link_paths(paths: Iterable[str]) -> list[str]:
    """Return the logical files of an object that are links, in order, up to the first gap."""
    found, ordered = set(paths), list[str]()
    while (path := link_path(len(ordered) + 1)) in found:
        ordered.append(path)
    return ordered
