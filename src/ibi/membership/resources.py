"""Archives that are registered with a resolver."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType, structs

from ibi.membership.model import registration as model
from ibi.membership.rules.membership import failure_words
from ibi.standard.instant import Instant
from ibi.standard.messages import holders as messages
from ibi.standard.messages import identification
from ibi.standard.messages.membership import MOST_HOSTS
from ibi.standard.resource import Answer, Request, Time, bounds, one_of

_MANY: Final = bounds(maxItems=MOST_HOSTS)
Texts = Annotated[tuple[str, ...], _MANY]
ProtocolWord = Annotated[str, one_of(["HTTP", "HTTPS"])]


class ArchiveApplication(Request, frozen=True):
    labels: Annotated[
        tuple[str, ...], bounds(minItems=1, maxItems=2), Meta(description="One IBI, in one or both forms.")
    ]
    key: Annotated[str, bounds(maxLength=identification.MAX_KEY, pattern="^[0-9]{10,}(-[0-9]{10,})?$")]
    admin_mail: str | None = None
    hosts: Texts = ()
    networks: Texts = ()
    prefixes: Annotated[Texts, Meta(description="Of which it is the home, too.")] = ()
    shared: Annotated[bool, Meta(description="It may have a prefix that another Archive has.")] = False
    archive_key: Annotated[str | None, Meta(description="The public key with which it signs.")] = None
    allow_weak_key: Annotated[bool, Meta(description="Take a key that is tried first.")] = False
    replace: Annotated[bool, Meta(description="Give a registered Archive this new key.")] = False


class ArchiveChange(Request, frozen=True):
    """What is not there, or null, stays as it is. Its key, its seniority and its inclusion stay."""

    label: Annotated[str | None, Meta(description="The other form of its label.")] = None
    add_prefixes: Texts = ()
    remove_prefixes: Texts = ()
    shared: bool | None = None
    vouched: bool | None = None
    successor: Annotated[str | None, Meta(description="Another registered Archive, to speak for this one.")] = None
    no_successor: bool = False
    add_hosts: Texts = ()
    remove_hosts: Texts = ()
    allow: Annotated[Texts, Meta(description="Networks, not of the whole Internet, in which it may be dialled.")] = ()
    disallow: Texts = ()
    admin_mail: str | None = None
    archive_key: Annotated[str | None, Meta(description="The public key with which it signs from now on.")] = None
    forget_archive_key: Annotated[
        bool, Meta(description="Believe the next key that it proves, or no signature at all.")
    ] = False
    lost: Annotated[
        bool | None,
        Meta(description="It is lost for good, and its successor may take over its Originals; or it is not."),
    ] = None


class ContactFailure(Answer, frozen=True):
    reason: Annotated[
        str,
        Meta(
            description="`forbidden-address` (the address guard), `bad-certificate`, `unknown-name`,"
            " `connection-refused`, `timed-out`, `wrong-key`, `wrong-signature`, or another word."
        ),
    ]
    detail: Annotated[str, Meta(description="The same for a person, with what can be done about it.")]
    at: Time

    @classmethod
    def of(cls, registration: model.Registration) -> ContactFailure | None:
        failed = registration.failed
        if failed is None:
            return None
        return cls(failed.reason, failure_words(failed.reason, registration.labels[0]), str(failed.at))


class PendingAddress(Answer, frozen=True):
    address: str
    protocol: ProtocolWord
    ip: str
    mail: str
    since: Time

    @classmethod
    def of(cls, pending: model.Inclusion) -> PendingAddress:
        return cls(
            address=pending.address,
            protocol=pending.protocol.value,
            ip=str(pending.ip),
            mail=pending.admin_mail,
            since=str(pending.since),
        )


class LastPlace(Answer, frozen=True):
    address: str
    protocol: ProtocolWord

    @classmethod
    def of(cls, registration: model.Registration) -> LastPlace | None:
        """Return where an Archive was that is switched off: others ask it again when it is back."""
        last = registration.last_inclusion
        if last is None or registration.inclusion is not None or registration.lost is not None:
            return None
        return cls(last.address, last.protocol.value)


class RegisteredArchiveResource(Answer, frozen=True):
    """A registered Archive. Without a token of the scope admin, only who is asked and where."""

    rep: str | None
    ibip: str | None
    included: Annotated[bool, Meta(description="Whether it is switched on, so that resolutions ask it.")]
    address: str | None
    protocol: ProtocolWord | None
    confirmed: Annotated[bool | None, Meta(description="Whether it answered when it was last called back.")]
    since: Annotated[Time | None, Meta(description="When it was included with what it says now.")]
    prefixes: Annotated[
        list[str], Meta(description="Prefixes of labels of which it is the home besides those of its own label.")
    ]
    successor: Annotated[str | None, Meta(description="The Archive that speaks for this one, which is gone.")]
    lost: Annotated[
        Time | None,
        Meta(
            description="Since when the administrator says that it is lost, so that its successor may take over its"
            " Originals."
        ),
    ]
    key: Annotated[str | None, Meta(description="The public key with which it signs, as this resolver has pinned it.")]
    former_keys: Annotated[list[str], Meta(description="With which it signed before, the latest first.")]
    failure: Annotated[
        ContactFailure | None,
        Meta(
            description="When and why it was last not reached, since it was last reached; of one that is switched off,"
            " only an administrator learns it."
        ),
    ]
    last: Annotated[
        LastPlace | None,
        Meta(
            description="Where it was, if it is switched off and not lost; Archives that were restored ask it once it"
            " is back."
        ),
    ]
    registered: Time | UnsetType = UNSET
    admin_mail: str | UnsetType | None = UNSET
    hosts: Annotated[list[str] | UnsetType, Meta(description="Where its URLs may lead besides its own address.")] = (
        UNSET
    )
    networks: Annotated[
        list[str] | UnsetType, Meta(description="Not of the whole Internet, and it may be dialled there.")
    ] = UNSET
    ip: str | UnsetType | None = UNSET
    platform_version: str | UnsetType | None = UNSET
    included_mail: Annotated[
        str | UnsetType | None, Meta(description="The administrator, as its inclusion names them.")
    ] = UNSET
    answered: Annotated[
        Time | UnsetType | None, Meta(description="When it last answered a call back, to some ten minutes.")
    ] = UNSET
    shared: Annotated[bool | UnsetType, Meta(description="Whether it may have a prefix that another Archive has.")] = (
        UNSET
    )
    vouched: Annotated[
        bool | UnsetType, Meta(description="Whether its claims are followed while the home of an item is silent.")
    ] = UNSET
    signed: Annotated[Time | UnsetType | None, Meta(description="When its last request was signed that was taken.")] = (
        UNSET
    )
    awaits_key: Annotated[
        bool | UnsetType,
        Meta(description="Whether it was recovered, and its registration key is not known yet."),
    ] = UNSET
    waiting: Annotated[
        str | UnsetType | None,
        Meta(description="The other form of its label, as it claims it. Nothing proves it: `label` confirms it."),
    ] = UNSET
    pending: Annotated[
        PendingAddress | UnsetType | None,
        Meta(
            description="An address that does not count yet: it has not confirmed, and the one before it still may"
            " answer."
        ),
    ] = UNSET

    @classmethod
    def public(cls, registration: model.Registration) -> RegisteredArchiveResource:
        """Return what everyone may know: its label and address, which every trace shows too."""
        service, inclusion = registration.service, registration.inclusion
        return cls(
            rep=None if service.rep is None else service.rep.spelling,
            ibip=None if service.ibip is None else service.ibip.spelling,
            included=inclusion is not None,
            address=None if inclusion is None else inclusion.address,
            protocol=None if inclusion is None else inclusion.protocol.value,
            confirmed=None if inclusion is None else inclusion.confirmed,
            since=None if inclusion is None else str(inclusion.since),
            prefixes=sorted(registration.prefixes),
            successor=None if registration.successor is None else registration.successor.labels[0].spelling,
            lost=None if registration.lost is None else str(registration.lost),
            key=None if registration.key is None else str(registration.key),
            former_keys=list(map(str, registration.former_keys)),
            failure=None if inclusion is None else ContactFailure.of(registration),
            last=LastPlace.of(registration),
        )

    @classmethod
    def whole(cls, registration: model.Registration) -> RegisteredArchiveResource:
        """Return all that administrators may know: everything but the hash of its key."""
        inclusion, waiting = registration.inclusion, registration.waiting
        answered = None if inclusion is None else inclusion.answered
        return structs.replace(
            cls.public(registration),
            registered=str(registration.registered),
            admin_mail=registration.admin_mail,
            hosts=sorted(registration.hosts),
            networks=[str(network) for network in registration.networks],
            ip=None if inclusion is None or inclusion.is_recovered else str(inclusion.ip),
            platform_version=None if inclusion is None else inclusion.platform_version or None,
            included_mail=None if inclusion is None else inclusion.admin_mail or None,
            answered=None if answered is None else str(answered),
            shared=registration.shared,
            vouched=registration.vouched,
            waiting=None if waiting is None else waiting.spelling,
            awaits_key=registration.awaits_key,
            pending=None if registration.pending is None else PendingAddress.of(registration.pending),
            failure=ContactFailure.of(registration),
            signed=None if not registration.signed_at else str(Instant(registration.signed_at // 1000)),
        )


class ServiceForms(Answer, frozen=True):
    rep: str | UnsetType = UNSET
    ibip: str | UnsetType = UNSET

    @classmethod
    def of(cls, forms: identification.LabelForms) -> ServiceForms:
        rep, ibip = forms.rep, forms.ibip
        return cls(UNSET if rep is None else rep.spelling, UNSET if ibip is None else ibip.spelling)


class RegisteredArchivesResource(Answer, frozen=True):
    archives: list[RegisteredArchiveResource]
    own: Annotated[
        ServiceForms | UnsetType,
        Meta(
            description="The labels of the service of this server's own Archive, which needs no registration. Left out"
            " if it has none."
        ),
    ] = UNSET


class LetterResource(Answer, frozen=True):
    """To the administrator: that the Archive is registered, and what to do next."""

    to: str
    subject: str
    text: str
    sent: bool
    reason: str | None


class NewlyRegisteredArchive(RegisteredArchiveResource, frozen=True, kw_only=True):
    letter: LetterResource | None
    warnings: Annotated[list[str], Meta(description="What the person who registers it should know: an easy key.")]


class CopyHolderResource(Answer, frozen=True):
    archive: Annotated[str, Meta(description="The label of its service.")]
    prefixes: Annotated[list[str] | None, Meta(description="Of the labels of which it holds Copies; null for all.")]

    @classmethod
    def of(cls, holder: messages.CopyHolder) -> CopyHolderResource:
        return cls(holder.service.spelling, sorted(holder.prefixes) or None)


class CopyHoldersResource(Answer, frozen=True):
    archive: Annotated[list[str], Meta(description="The labels of this Archive's service.")]
    at: Annotated[int, Meta(description="When it was signed, in milliseconds since 1970: the latest counts.")]
    holders: Annotated[list[CopyHolderResource], bounds(maxItems=messages.MOST_COPIES)]
    statement: Annotated[
        str, Meta(description="All of this as a compact JWS (RFC 7515), signed with the Archive's key.")
    ]
