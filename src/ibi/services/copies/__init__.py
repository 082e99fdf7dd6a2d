"""Copies of items of other Archives: given, brought, refreshed, dropped, and the jobs that do so."""
