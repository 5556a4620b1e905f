"""Collectives on compute units: channels that become resident, wait for their peers, and move data.

It must not know how a library chose its plan; that is in c3sim.models.
"""
