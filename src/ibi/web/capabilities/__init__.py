"""The faces of each capability: its routes, jobs, metrics and menu, made from its services.

Each function returns the `Opened` of one capability. `ibi.composition.server` lists them in their order.
"""
