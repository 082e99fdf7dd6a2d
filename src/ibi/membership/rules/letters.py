"""E-mails to the administrators of Archives: about registrations (R §7.1) and addresses (E64)."""

from __future__ import annotations

from typing import Final

from ibi.membership.model.registration import Inclusion, Registration
from ibi.membership.rules.membership import SILENCE
from ibi.standard.mail import Letter

_PENDING_SUBJECT: Final = "Novo endereço de Arquivo não confirmado / New address of an Archive not confirmed"

_PENDING: Final = """\
(English below)

O Arquivo cujo serviço tem o IBI

  {labels}

pediu ao resolvedor {resolver}
a sua inclusão em um novo endereço,

  {new}

e ali não confirmou o pedido. Ele continua a ser procurado em

  {old}

O novo endereço é tentado outra vez de tempos em tempos, e passa a valer
quando confirmar, ou quando o endereço anterior ficar {minutes} minutos sem
responder. Se o Arquivo mudou de endereço, verifique se o novo pode ser
alcançado. Se não mudou, alguém conhece a chave de cadastro: peça uma nova ao
administrador do resolvedor.

----------------------------------------------------------------------

The Archive whose service has the IBI

  {labels}

asked the resolver {resolver}
to be included at a new address,

  {new}

and did not confirm the request there. It is still asked at

  {old}

The new address is tried again from time to time. It counts as soon as it
confirms, or once the address before it has not answered for {minutes} minutes.
If the Archive has moved, see that the new address can be reached. If it has
not, the registration key is known to others: ask the administrator of the
resolver for a new one.
"""

_REPLACED_SUBJECT: Final = "Endereço de Arquivo substituído / Address of an Archive replaced"

_REPLACED: Final = """\
(English below)

O Arquivo cujo serviço tem o IBI

  {labels}

passou a ser procurado pelo resolvedor {resolver}
em

  {new}

porque o seu endereço anterior,

  {old}

não respondeu durante {minutes} minutos. O novo endereço ainda não confirmou.
Se ele não é do Arquivo, alguém conhece a chave de cadastro: avise o
administrador do resolvedor.

----------------------------------------------------------------------

The Archive whose service has the IBI

  {labels}

is now asked by the resolver {resolver}
at

  {new}

because its address before,

  {old}

has not answered for {minutes} minutes. The new address has not confirmed yet.
If it is not the Archive's, the registration key is known to others: tell the
administrator of the resolver.
"""


def pending_letter(registration: Registration, recipient: str, resolver: str) -> Letter:
    """Return the e-mail for a registration with a pending inclusion: the new address does not count yet."""
    return _letter(
        _PENDING_SUBJECT,
        _PENDING,
        registration,
        recipient,
        resolver=resolver,
        new=_url(registration.pending),
        old=_url(registration.inclusion),
    )


def replaced_letter(registration: Registration, before: Inclusion, recipient: str, resolver: str) -> Letter:
    """Return the e-mail for a registration with a pending inclusion that replaced the silent one `before`."""
    return _letter(
        _REPLACED_SUBJECT,
        _REPLACED,
        registration,
        recipient,
        resolver=resolver,
        new=_url(registration.inclusion),
        old=_url(before),
    )


def _letter(subject: str, text: str, registration: Registration, recipient: str, **words: str) -> Letter:
    labels = "\n  ".join(label.spelling for label in registration.labels)
    return Letter(recipient, subject, text.format(labels=labels, minutes=SILENCE // 60, **words))


def _url(inclusion: Inclusion | None) -> str:
    return "" if inclusion is None else f"{inclusion.protocol.scheme}://{inclusion.address}"


_SUBJECT: Final = "Cadastro de Arquivo confirmado / Archive registered"

_TEXT: Final = """\
(English below)

O Arquivo cujo serviço tem o IBI

  {labels}

está cadastrado no resolvedor {resolver} desde {registered}.

O que fazer agora: indique ao Arquivo o endereço do resolvedor e a chave de
cadastro que o senhor ou a senhora escolheu, e ligue o Arquivo. Ao ser ligado,
ele pede a sua inclusão; ao ser desligado, a sua exclusão. Com o programa ibi:

  ibi.toml          resolver = "{resolver}"
                    [archive]
                    registration_key = "..."
                    admin_email = "{mail}"
  linha de comando  ibi archive switch-on

A chave não está nesta mensagem, e o resolvedor guarda apenas um resumo dela.
Quem a conhece pode incluir e excluir o Arquivo: não a envie a ninguém.
Se não foi o senhor ou a senhora quem pediu este cadastro, responda a esta
mensagem.

----------------------------------------------------------------------

The Archive whose service has the IBI

  {labels}

is registered with the resolver {resolver} since {registered}.

What to do next: tell the Archive the address of the resolver and the
registration key that you chose, and switch it on. When it is switched on it
asks to be included, when it is switched off to be excluded. With ibi:

  ibi.toml          resolver = "{resolver}"
                    [archive]
                    registration_key = "..."
                    admin_email = "{mail}"
  command line      ibi archive switch-on

The key is not in this message, and the resolver keeps no more than a hash of
it. With it, the Archive can be included and excluded: keep it secret.
If it was not you who asked for this registration, answer this message.
"""


def confirmation_letter(registration: Registration, recipient: str, resolver: str) -> Letter:
    """Return the e-mail that confirms a registration. `resolver` is the address at which Archives reach it."""
    labels = "\n  ".join(label.spelling for label in registration.labels)
    registered = str(registration.registered)
    return Letter(
        recipient, _SUBJECT, _TEXT.format(labels=labels, resolver=resolver, registered=registered, mail=recipient)
    )
