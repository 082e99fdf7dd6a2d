"""How letters are sent.

Short: one method.
"""

from __future__ import annotations

from typing import Protocol

from ibi.model.letter import Letter


class Mailer(Protocol):
    def send(self, letter: Letter) -> None:
        """Hand a letter to a mail server that takes it from here; an `IbiError` that says why if there is none.

        Waits for the network.
        """
