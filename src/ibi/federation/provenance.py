"""How an Original came to be where it is: the chain of releases and countersignatures that is kept with the item.

Link 1 is the release by which the first Archive gave the Original away, link 2 the countersignature of the Archive that
took it, link 3 the release by which that one gave it on, and so on. Each link is a signed statement
(`ibi.signing`) that has its number and the digest of the link before it, so that none can be left out, put
elsewhere or used again: a release that was played once does not fit a chain that went on. A release names the receiver
by its service and by its key, and what was given by the digest of its manifest.

A countersignature has no date of its own. Signatures of Ed25519 are the same whenever they are made, so an Archive that
was put back from a backup and takes the Original over a second time makes the same link, and no second chain.

Whose key the first signer has cannot be seen from a chain: `check_chain` asks. Every later signer was named by the link
before.
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

from ibi.errors import InvalidInput
from ibi.instant import Instant
from ibi.label import Label
from ibi.messages.answers import resolver_service
from ibi.messages.identification import LabelForms
from ibi.model.errors import InvalidDocument
from ibi.model.item import name_one_item
from ibi.model.item_json import forms_document, read_forms, read_instant, read_label
from ibi.model.json_fields import Fields, decode_document, integer, of_string, string
from ibi.signing import PublicKey, SigningKey, Statement, read_statement, sign_statement

RELEASE: Final = "release"
COUNTERSIGNATURE: Final = "countersignature"
FOLDER: Final = "provenance/"
"""Where the links are among the logical files of an item's object."""
MOST_LINKS: Final = 64
"""Of one chain: an item that moved more often than 32 times is not believed, whatever the signatures say."""
LONGEST_LINK: Final = 8192
"""Characters of one statement."""
_LONGEST_ACCEPTANCE: Final = 4096
"""Characters of an acceptance in a release, which has to stay shorter than `LONGEST_LINK`."""
_REMEMBERED: Final = 4096
"""Links that need not be checked again: each is looked at many times while its item moves."""
_SCHEMA: Final = 1
_LINK: Final = re.compile(r"provenance/[0-9]+\.json")


class InvalidProvenance(InvalidInput):
    """{quoted} does not prove where the Original is: {reason}."""

    code = "invalid-provenance"
    request_field = "chain"


IsKeyOf = Callable[[Label, PublicKey], bool]
"""Whether a key is that of the Archive with this service, or was one that it changed for the present one."""


@dataclass(frozen=True, slots=True)
class Release:
    """What an Archive says when it gives an Original away."""

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
    """Who signed it in the place of the giver, which is lost: the service of the resolver (E97). None if the giver
    itself did."""
    acceptance: str | None = None
    """What the receiver signed when it held the Copy. A receiver that was restored from an older backup sees by it
    that it agreed (E102). None in releases of earlier versions."""

    @property
    def speaker(self) -> Label:
        """The service whose key has to have signed it."""
        return self.giver if self.by is None else self.by


@dataclass(frozen=True, slots=True)
class Countersignature:
    """What the receiver says when it has taken the Original."""

    labels: LabelForms
    number: int
    previous: str
    by: Label
    manifest: str


@dataclass(frozen=True, slots=True)
class ProvenanceLink:
    """One link as it is kept: the statement, who signed it, and what it says."""

    text: str
    signer: PublicKey
    said: Release | Countersignature

    @property
    def digest(self) -> str:
        return digest_of(self.text)

    @property
    def speaker(self) -> Label:
        """The service whose key has to have signed it."""
        return self.said.speaker if isinstance(self.said, Release) else self.said.by


@dataclass(frozen=True, slots=True)
class Chain:
    """The links of one item, checked: each follows from the one before."""

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
        """The latest one, countersigned or not."""
        return next((link.said for link in reversed(self.links) if isinstance(link.said, Release)), None)

    @property
    def is_under_way(self) -> bool:
        """Whether the receiver of the last release has not countersigned: no Archive says Original at the moment."""
        return bool(self.links) and isinstance(self.links[-1].said, Release)

    @property
    def successors(self) -> tuple[Label, ...]:
        """The services to which the Original was given, one after the other; the last has it, or is to have it."""
        return tuple(link.said.to for link in self.links if isinstance(link.said, Release))


NO_CHAIN: Final = Chain()
"""Of an item that never moved."""


class ChainOrder(Enum):
    """How a chain that comes in stands to the one that is known."""

    SAME = "the same"
    NEWER = "goes on from it"
    OLDER = "a beginning of it"
    FORKED = "another one"
    """Two releases of one number: an Archive said two things. What is known stays, and people have to decide."""


def compare_chains(known: Sequence[str], found: Sequence[str]) -> ChainOrder:
    """Of two chains as texts. Dates play no part: they are what the signer likes."""
    shared = min(len(known), len(found))
    if tuple(known[:shared]) != tuple(found[:shared]):
        return ChainOrder.FORKED
    if len(known) == len(found):
        return ChainOrder.SAME
    return ChainOrder.NEWER if len(found) > len(known) else ChainOrder.OLDER


# --- making ----------------------------------------------------------------------------------------------------------


def manifest_digest(files: Mapping[str, str]) -> str:
    """The digest of what an item consists of, by the SHA-512 of each of its logical files: `item.json` and `doc/**`.
    What an Archive writes beside them is its own, and not in it."""
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
    """The chain with one release more. Not for a chain that is under way: what was given away cannot be given again.
    `by` is the service that signs in the place of a giver that is lost; `acceptance` is what the receiver signed."""
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
    """The chain with the countersignature of the receiver of its last release, which is under way."""
    release = chain.last_release
    assert chain.is_under_way
    assert release is not None  # which is what is under way
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


# --- reading ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=_REMEMBERED)
def read_link(text: str, number: int) -> ProvenanceLink:
    """The link of that number: odd ones are releases. The signature is checked, and no more."""
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
    """The chain, every link of which follows from the one before; `InvalidProvenance` names the first that does not.

    `is_key_of` says whether the first signer is the Archive that it says it is, and is asked again where an Archive
    signs with another key than it was named by. `labels` are those of the item that it has to be about. Whose keys
    signed the links of a `known` chain was decided before, and is not asked again: keys are replaced.
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
        if earlier is not None and said.giver != earlier.to:
            raise _refusal(link, number, "{giver} did not have the Original", giver=str(said.giver))
        if earlier is not None and said.at < earlier.at:
            raise _refusal(link, number, "it is dated before the release that came before it")
        if said.to == said.giver:
            raise _refusal(link, number, "an Archive gives nothing to itself")
    elif earlier is None or (said.by, said.manifest) != (earlier.to, earlier.manifest):
        raise _refusal(link, number, "it countersigns something else than the release before it")


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
    """What a later version says beside this is signed with it, and not understood here: it is left aside."""
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
    """Only a resolver signs in the place of another."""
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


# --- as files --------------------------------------------------------------------------------------------------------


def link_path(number: int) -> str:
    return f"{FOLDER}{number}.json"


def encode_link(link: ProvenanceLink) -> bytes:
    """The file of a link: the statement, which counts, and what it says, for people."""
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
    """The statement of a file, unchecked."""
    fields = Fields(decode_document(body), "provenance")
    fields.check_schema(_SCHEMA)
    return fields.required("statement", string)


def check_files(files: Mapping[str, bytes], labels: LabelForms) -> Chain:
    """The chain among the further files of an object that a stranger has sent; `InvalidProvenance` names the file.

    All that can be seen in the files is checked, and not whose the keys are.
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
    """Those of the logical files of an object that are links, in their order, as far as there is no gap."""
    found, ordered = set(paths), list[str]()
    while (path := link_path(len(ordered) + 1)) in found:
        ordered.append(path)
    return ordered
