"""What a server says of itself: labels that it mints, as whom, its keys, whether it is ready, and problems."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from ibi.minting.rules.minter import MAX_COUNT, Rules
from ibi.standard.identity import Identity
from ibi.standard.resource import Answer, Count, Request, Time, bounds, one_of


class LabelsRequest(Request, frozen=True):
    count: Annotated[int, bounds(minimum=1, maximum=MAX_COUNT)]


class LabelResource(Answer, frozen=True):
    rep: Annotated[str, Meta(description="The repository name.")]
    ibip: Annotated[str | None, Meta(description="The IBIp of the same instant; null where the minter has no address.")]
    instant: Annotated[Time, Meta(description="The instant that both were made from, in UTC.")]
    sandbox: Annotated[bool, Meta(description="Whether it is only for trying out: its uniqueness is not guaranteed.")]


class LabelsResource(Answer, frozen=True):
    labels: list[LabelResource]


Port = Annotated[int, bounds(minimum=1, maximum=65535)]
Seconds = Annotated[float, bounds(minimum=0)]


class MinterPrefixes(Answer, frozen=True):
    rep: str
    ibip: str | None


class MinterClock(Answer, frozen=True):
    accepted: Annotated[bool, Meta(description="Whether this machine's clock is believed at the moment.")]
    code: Annotated[str | None, Meta(description="If not, the code of the reason,")]
    reason: Annotated[str | None, Meta(description="and the reason.")]


class MinterIdentity(Answer, frozen=True):
    """Who mints."""

    host: str
    ip: str | None
    host_port: Port
    ip_port: Port
    prefixes: MinterPrefixes
    is_global: Annotated[bool, Meta(description="Whether host and address mean one place in the whole Internet.")]
    sandbox: bool
    instance: Annotated[str, Meta(description="Tells this minter from a copy of it that answers in the same name.")]
    granularity: Annotated[str, Meta(description="Seconds between two dates (`60`, `1`, `0.1` …), or `auto`.")]

    @classmethod
    def of(cls, identity: Identity, rules: Rules, instance: str) -> MinterIdentity:
        return MinterIdentity(
            host=identity.host,
            ip=identity.ip,
            host_port=identity.host_port,
            ip_port=identity.ip_port,
            prefixes=MinterPrefixes(rep=identity.repository_prefix, ibip=identity.ibip_prefix),
            is_global=identity.is_global,
            sandbox=identity.sandbox,
            instance=instance,
            granularity="auto" if rules.granularity is None else str(rules.granularity),
        )


class IdentityResource(MinterIdentity, frozen=True):
    wait_bound: Annotated[
        Seconds, Meta(description="Longest wait, in seconds, at granularity `auto` and a right clock.")
    ]
    longest_wait: Annotated[Seconds, Meta(description="Longest wait in seconds before a request is refused instead.")]
    max_count: Annotated[int, bounds(minimum=1, maximum=MAX_COUNT), Meta(description="Most labels in one request.")]
    clock: MinterClock


class SigningKeys(Answer, frozen=True):
    """The keys with which a service signs."""

    key: Annotated[str, Meta(description="Ed25519, in base64url.")]
    former: Annotated[list[str], Meta(description="With which it signed before, the latest first.")]
    changes: Annotated[
        list[str], Meta(description="The statements by which former keys named the next ones, the oldest first.")
    ]


class KeysOfArchive(SigningKeys, frozen=True):
    """The keys of an Archive."""

    rep: str | None
    ibip: str | None


class KeysOfResolver(SigningKeys, frozen=True):
    """The keys of a resolver."""

    url: str
    proof: Annotated[
        str | UnsetType,
        Meta(description="A compact JWS of the type `ibi-proof+jws` that has the `challenge`; left out without one."),
    ] = UNSET
    run: Annotated[str, Meta(description="Names the run of the resolver; another one after each start.")] = ""


class KeysResource(Answer, frozen=True):
    archive: KeysOfArchive | None
    resolver: KeysOfResolver | None


class UnreadyReason(Answer, frozen=True):
    code: str
    detail: str
    retry_after: Annotated[int, bounds(minimum=1, maximum=3600)]


class StartProgress(Answer, frozen=True):
    read: Count
    items: Count | None


class PartOfReadiness(Answer, frozen=True):
    name: str
    ok: bool
    codes: Annotated[list[str], Meta(description="Of what is wrong.")]


class ReadyNotice(Answer, frozen=True):
    code: Annotated[str, one_of(["standing-in", "not-included", "in-doubt"])]
    reason: str
    detail: str


class ReadinessResource(Answer, frozen=True):
    ready: bool
    reasons: list[UnreadyReason]
    progress: Annotated[
        StartProgress | UnsetType,
        Meta(description="While the server starts: items of its store that were read, of how many if that is known."),
    ] = UNSET
    in_doubt: Annotated[
        str | UnsetType,
        one_of(["items", "transfers"]),
        Meta(
            description="What waits while the Archive may have been put back from a backup: changes of items, or"
            " transfers alone; otherwise left out."
        ),
    ] = UNSET
    unheard: Annotated[
        tuple[str, ...] | UnsetType,
        Meta(description="Servers that did not say yet what was given away since; with in_doubt."),
    ] = UNSET
    checks: Annotated[list[PartOfReadiness] | UnsetType, Meta(description="What was looked at; with `verbose`.")] = (
        UNSET
    )
    notices: Annotated[
        list[ReadyNotice] | UnsetType,
        Meta(description="What does not make a server unready; with `verbose`."),
    ] = UNSET


class ProblemResource(Answer, frozen=True):
    """Problem details (RFC 9457)."""

    type: Annotated[str, bounds(pattern="^urn:ibi:problem:[a-z-]+$")]
    title: str
    status: int
    detail: str
    field: Annotated[str | UnsetType, Meta(description="The member, header or part of the request at fault.")] = UNSET
    retry_after: Annotated[int | UnsetType, bounds(minimum=1)] = UNSET
