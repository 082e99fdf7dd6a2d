"""The interfaces of the applications to the outside. Adapters are in `storage` and `transport`; one suite tests
each."""
