"""Orchestration: the rules of the applications, run against real stores, clocks and networks."""
