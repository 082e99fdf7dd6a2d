"""E-mails to the administrator of an Archive about an Original that another Archive claims too (E93)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ibi.membership.model.registration import ClaimKind, Dispute
from ibi.standard.instant import Instant
from ibi.standard.mail import Letter

MOST_LISTED: Final = 50
"""Most items in one e-mail; the page lists all of them."""

_DISPUTE_SUBJECT: Final = "Original em disputa / Original in dispute"

_DISPUTE_TEXT: Final = """\
(English below)

Dois Arquivos dizem ter o Original do mesmo item. O resolvedor

  {resolver}

acredita em

  {holder}

e as ligações levam para lá. O outro Arquivo é

  {claimant}

Itens:

{items}

O que fazer: se um dos Arquivos foi restaurado de uma cópia antiga, ou tem um
item que já entregou, corrija-o. Se o Original foi entregue, o Arquivo que o
entregou diz a quem, e a disputa termina. De outro modo, peça ao administrador
do resolvedor que decida. Todas as disputas estão em {page}

----------------------------------------------------------------------

Two Archives say that they have the Original of one item. The resolver

  {resolver}

believes

  {holder}

and links lead there. The other Archive is

  {claimant}

Items:

{items}

What to do: if one of the Archives was restored from an old backup, or has an
item that it gave away, put that right. If the Original was given away, the
Archive that gave it says to whom, and the dispute ends. Otherwise ask the
administrator of the resolver to settle it. All disputes are at {page}
"""

_CLAIMS: Final = {ClaimKind.ORIGINAL: "Original", ClaimKind.DELETED: "Deleted"}


def dispute_letter(to: str, disputes: Sequence[Dispute], resolver: str) -> Letter:
    """Return the e-mail about unsettled `disputes` between the same two Archives. `resolver` is its URL.

    Both administrators get it, with each item at most once a day (E93).
    """
    first = disputes[0]
    lines = [_line(dispute) for dispute in disputes[:MOST_LISTED]]
    if len(disputes) > MOST_LISTED:
        lines.append(f"  ... {len(disputes) - MOST_LISTED} more")
    text = _DISPUTE_TEXT.format(
        resolver=resolver,
        holder=first.holder,
        claimant=first.claim.claimant,
        items="\n".join(lines),
        page=f"{resolver}/disputes",
    )
    return Letter(to, _DISPUTE_SUBJECT, text)


def _line(dispute: Dispute) -> str:
    claim = dispute.claim
    return f"  {claim.label}  ({_CLAIMS.get(claim.kind, claim.kind.value)}, {Instant(claim.last_seen)})"
