"""Names of the parts of a description: the elements of Dublin Core, the types, the states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ibi.model.metadata import ResourceType
from ibi.vocabulary import State
from ibi.web.pages.translation import message

ELEMENTS: Final[Mapping[str, str]] = {
    "contributor": message("Contributors"),
    "publisher": message("Publisher"),
    "date": message("Date"),
    "subject": message("Subjects"),
    "coverage": message("Coverage"),
    "language": message("Language of the text"),
    "type": message("Type"),
    "format": message("Format"),
    "source": message("Source"),
    "relation": message("Related to"),
    "rights": message("Rights"),
    "identifier": message("Other identifiers"),
}
"""Elements in the order of a page. Titles, creators and descriptions have places of their own there."""

KINDS: Final[Mapping[ResourceType, str]] = {
    ResourceType.COLLECTION: message("Collection"),
    ResourceType.DATASET: message("Dataset"),
    ResourceType.EVENT: message("Event"),
    ResourceType.IMAGE: message("Image"),
    ResourceType.INTERACTIVE_RESOURCE: message("Interactive resource"),
    ResourceType.MOVING_IMAGE: message("Moving image"),
    ResourceType.PHYSICAL_OBJECT: message("Physical object"),
    ResourceType.SERVICE: message("Service"),
    ResourceType.SOFTWARE: message("Software"),
    ResourceType.SOUND: message("Sound"),
    ResourceType.STILL_IMAGE: message("Still image"),
    ResourceType.TEXT: message("Text"),
}

STATES: Final[Mapping[State, str]] = {
    State.ORIGINAL: message("Original"),
    State.COPY: message("Copy"),
    State.DELETED: message("Deleted"),
}

STATE_MEANINGS: Final[Mapping[State, str]] = {
    State.ORIGINAL: message("This Archive keeps the Original and answers for it."),
    State.COPY: message("The Original is kept by another Archive; this is a copy of it."),
    State.DELETED: message("The Original was kept here and has been deleted."),
}
