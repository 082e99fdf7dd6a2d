"""The e-mail that tells an administrator that the Archive is registered (R §7.2), in Portuguese and in English."""

from __future__ import annotations

from typing import Final

from ibi.model.letter import Letter
from ibi.model.registration import Registration

__all__ = ["confirmation_letter"]

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
it. Whoever knows it can include and exclude the Archive: send it to nobody.
If it was not you who asked for this registration, answer this message.
"""


def confirmation_letter(registration: Registration, recipient: str, resolver: str) -> Letter:
    """`resolver` is the address at which Archives reach it."""
    labels = "\n  ".join(label.spelling for label in registration.labels)
    registered = str(registration.registered)
    return Letter(
        recipient, _SUBJECT, _TEXT.format(labels=labels, resolver=resolver, registered=registered, mail=recipient)
    )
