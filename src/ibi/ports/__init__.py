"""The interfaces that the applications need from the outside. Adapters live in `storage` and `transport`; one
contract suite tests each."""
