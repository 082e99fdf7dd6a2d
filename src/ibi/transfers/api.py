"""`/api/transfers`, `/api/releases`, `/api/items/<label>/provenance`: Originals that move between Archives.

Another Archive makes an offer, with or without a token of this one. Signed statements are public, so that everyone can
check the way of an Original.
"""

from __future__ import annotations

import asyncio
from hashlib import sha256
from http import HTTPStatus
from secrets import token_bytes
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.items.model.item_json import forms_document
from ibi.items.rules.errors import UnknownItem
from ibi.items.rules.provenance import LONGEST_LINK, MOST_LINKS, read_link
from ibi.jobs.limits import network_of
from ibi.people.model.account import Scope
from ibi.standard.errors import InvalidLabel
from ibi.standard.label import Label, RepositoryName, parse
from ibi.transfers.resources import MOST_TRANSFERS, TransferResource, TransfersResource
from ibi.transfers.rules.transfer_messages import reply_document
from ibi.transfers.service.documents import UnknownStage, list_transfers
from ibi.transfers.service.release_register import ReleaseRegister
from ibi.transfers.service.worker import TransferWorker
from ibi.web.authentication import Callers
from ibi.web.body import json_answer, short_json
from ibi.web.record_requests import json_object, record_target, refusing_members
from ibi.web.request import by_method, reader_address
from ibi.web.request_errors import InvalidMember, InvalidParameter, MemberMissing, PathNotFound, UnknownMember

MOST_RELEASES: Final = 100
"""Number of chains in one answer."""
_MOST_OFFER: Final = 64 * 1024
_MOST_CHAIN: Final = MOST_LINKS * LONGEST_LINK + 4096
_NO_STORE: Final = {"cache-control": "no-store"}
_JSON: Final = "application/json"


class TransferPages:
    """Endpoints of an Archive that gives and receives Originals."""

    def __init__(self, callers: Callers, transfers: TransferWorker) -> None:
        self._callers, self._transfers = callers, transfers

    def routes(self) -> list[Route]:
        return [
            Route("/api/transfers", by_method(GET=self.list, POST=self.offer), methods=["GET", "POST"]),
            Route("/api/transfers/answer", by_method(POST=self.answer), methods=["POST"]),
        ]

    async def offer(self, request: Request) -> Response:
        """Take an offer of another Archive. A token of the scope edit accepts it at once; without a token it waits."""
        agreed = False
        if await self._callers.is_known(request):
            await self._callers.actor(request, Scope.EDIT)
            agreed = True
        network = str(network_of(reader_address(request.scope, self._callers.site.proxies)) or "unknown")
        said = _members(await json_object(request, most=_MOST_OFFER) or {}, "offer")
        reply = await self._callers.run_short(
            lambda: self._transfers.receiving.take_offer(said["offer"], agreed=agreed, network=network)
        )
        self._transfers.wake()
        return _answer(reply_document(reply))

    async def list(self, request: Request) -> Response:
        await self._callers.actor(request, Scope.EDIT)
        after = request.query_params.get("after", "")
        direction = request.query_params.get("direction", "in")
        stage = request.query_params.get("stage", "")
        if direction not in ("in", "out", "open"):
            raise InvalidParameter(field="direction", reason="it is in, out or open")
        try:
            found = await self._callers.run_short(
                lambda: list_transfers(
                    self._transfers.ledger, self._transfers.receiving.senders, direction, stage, after
                )
            )
        except UnknownStage as error:
            raise InvalidParameter(field="stage", reason=str(error)) from None
        return short_json(TransfersResource(transfers=found, is_last=len(found) < MOST_TRANSFERS))

    async def answer(self, request: Request) -> Response:
        """Accept or decline an offer. With a `key`, only the offer of the Archive with that key is accepted."""
        await self._callers.actor(request, Scope.EDIT)
        document = dict(await json_object(request, most=_MOST_OFFER) or {})
        key = document.pop("key", None)
        if key is not None and not isinstance(key, str):
            raise InvalidMember(field="key", reason="it is a text")
        said = _members(document, "item", "answer")
        if said["answer"] not in ("accept", "decline"):
            raise InvalidMember(field="answer", reason="it is accept or decline")
        with refusing_members("item"):
            rep = RepositoryName.parse(said["item"])
        receiving = self._transfers.receiving
        is_accepted = said["answer"] == "accept"
        kept = await self._callers.run_short(
            lambda: receiving.agree(rep, key) if is_accepted else receiving.decline(rep)
        )
        self._transfers.wake()
        standing = await self._callers.run_short(lambda: receiving.senders.judge_kept(kept))
        return short_json(TransferResource.of_incoming(kept, standing))

    async def provenance(self, request: Request) -> Response:
        """Return the chain of an item, for everyone to check."""
        label = record_target(request.scope, "/provenance").required_label
        item = await self._callers.site.find(label)
        if item is None:
            return await self._provenance_of_gone(label)
        chain, problem = await self._callers.run_short(lambda: self._transfers.chains.tell(label))
        document: dict[str, Any] = {
            "labels": forms_document(item.labels),
            "state": item.state.value,
            "chain": list(chain.texts),
        }
        if self._callers.site.is_unconfirmed(item):
            document["unconfirmed"] = True
        if problem is not None:
            document["problem"] = problem
        return json_answer(document, HTTPStatus.OK, {"cache-control": "no-cache"}, _JSON)

    async def _provenance_of_gone(self, label: Label) -> Response:
        """Return the chain of an item that is not here any more.

        An example is a Copy that was dropped before the receiver of the Original had fetched the release.
        """
        rep = label if isinstance(label, RepositoryName) else None
        texts = () if rep is None else await self._callers.run_short(lambda: self._transfers.ledger.chain(rep))
        if not texts:
            raise UnknownItem(label=label.spelling)
        document = {"labels": forms_document(read_link(texts[0], 1).said.labels), "chain": list(texts)}
        return json_answer(document, HTTPStatus.OK, {"cache-control": "no-cache"}, _JSON)


def name_run(secret: bytes | None) -> str:
    """Return a name for the run of a resolver since its start. The processes of its server share the secret."""
    return sha256(b"run of a resolver" + (secret or token_bytes(32))).hexdigest()[:32]


class ReleasePages:
    """Chains that an Archive or a resolver knows, for the Archives in them. A resolver also receives chains."""

    def __init__(
        self, transfers: TransferWorker | None, register: ReleaseRegister | None, secret: bytes | None
    ) -> None:
        """`secret` is shared by the processes of this server since its start; None if there is one process."""
        self._transfers, self._register = transfers, register
        self._run = name_run(secret)

    def routes(self) -> list[Route]:
        if self._transfers is None and self._register is None:
            return []
        handlers = {"GET": self.list} | ({} if self._register is None else {"POST": self.tell})
        routes = [Route("/api/releases", by_method(**handlers), methods=list(handlers))]
        if self._register is not None:
            routes.append(Route("/api/releases/lost", by_method(POST=self.give_lost), methods=["POST"]))
        return routes

    async def list(self, request: Request) -> Response:
        service, after = _service(request), request.query_params.get("after", "")[:1024]
        found: dict[str, tuple[str, ...]] = await asyncio.to_thread(self._find, service, after)
        listed = [{"item": name, "chain": list(chain)} for name, chain in sorted(found.items())[:MOST_RELEASES]]
        document = {"releases": listed, "is_last": len(found) < MOST_RELEASES}
        return _answer(document if self._register is None else {**document, "run": self._run})

    def _find(self, service: Label, after: str) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        if self._transfers is not None:
            ledger = self._transfers.ledger
            for rep, texts in ledger.chains_of(service, after, MOST_RELEASES):
                found[str(rep).lower()] = texts
            for rep in ledger.with_peer(service, after, MOST_RELEASES):
                chain = self._transfers.chains.chain(rep)
                if len(chain.links) > len(found.get(str(rep).lower(), ())):
                    found[str(rep).lower()] = chain.texts
        if self._register is not None:
            for name, texts in self._register.of_service(service, after, MOST_RELEASES):
                if len(texts) > len(found.get(name, ())):
                    found[name] = texts
        return found

    async def tell(self, request: Request) -> Response:
        register = self._register
        if register is None:
            raise PathNotFound()
        chain = _chain_member(await json_object(request, most=_MOST_CHAIN) or {})
        if not chain:
            raise InvalidMember(field="chain", reason="it is a list of signed statements")
        if self._transfers is not None:
            # Also chains that the resolver refuses, such as those of an Archive that it has forgotten.
            await asyncio.to_thread(self._transfers.take_told, chain)
        holder = await asyncio.to_thread(register.hear, chain)
        return _answer({"holder": holder.spelling})

    async def give_lost(self, request: Request) -> Response:
        """Give the Original of a lost Archive to its successor, which holds a Copy."""
        register = self._register
        if register is None:
            raise PathNotFound()
        said = await json_object(request, most=_MOST_CHAIN) or {}
        acceptance = said.get("acceptance")
        if not isinstance(acceptance, str) or len(acceptance) > LONGEST_LINK:
            raise InvalidMember(field="acceptance", reason="it is a signed statement")
        chain = await asyncio.to_thread(register.give_lost, acceptance, _chain_member(said))
        return _answer({"chain": list(chain)})


def _chain_member(said: dict[str, Any]) -> tuple[str, ...]:
    chain = said.get("chain")
    if not isinstance(chain, list) or not all(isinstance(each, str) for each in chain):
        raise InvalidMember(field="chain", reason="it is a list of signed statements")
    return tuple(chain)


def _service(request: Request) -> Label:
    try:
        return parse(request.query_params.get("of", ""))
    except InvalidLabel as error:
        raise InvalidParameter(field="of", reason=str(error).rstrip(".")) from None


def _members(said: dict[str, Any], *names: str) -> dict[str, str]:
    unknown = next((name for name in said if name not in names), None)
    if unknown is not None:
        raise UnknownMember(field=unknown[:40], known=", ".join(names))
    for name in names:
        if name not in said:
            raise MemberMissing(field=name)
        if not isinstance(said[name], str):
            raise InvalidMember(field=name, reason="it is a text")
    return said


def _answer(document: dict[str, Any]) -> Response:
    return json_answer(document, HTTPStatus.OK, _NO_STORE, _JSON)
