"""`[copies]`: Copies of items of other Archives. Declared as all settings are, in a module of their own.

Short: a section of few settings; `ibi.config.settings` has the others.
"""

from dataclasses import dataclass
from typing import Annotated

from ibi.config.declaration import Setting
from ibi.config.kinds import Networks, SizeBound, TokenText


@dataclass(frozen=True, slots=True)
class CopySettings:
    """`[copies]`: what is taken in of other Archives, and which of them a server asks. Sizes are in bytes."""

    quota: Annotated[
        SizeBound,
        Setting(
            "How much the files of all Copies of items of other Archives may take; 0 is no bound but the disk.",
            default="0",
        ),
    ]
    networks: Annotated[
        Networks | None,
        Setting(
            "Networks, besides all public addresses, in which a server asks other Archives for items to copy; commands"
            " on the data directory ask whichever Archive they are told."
        ),
    ]
    token: Annotated[
        TokenText | None,
        Setting(
            "The token shown to the Archive that `ibi copy` and `ibi refresh` take restricted items from, where no"
            " `--token` is given.",
            in_file=False,
        ),
    ]
