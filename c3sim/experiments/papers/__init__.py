"""Kinds of studies, a file each: what is run, what is concluded, which published figures stand
beside.

:mod:`c3sim.experiments.study` says what such a file has. A kind must not know of another one (c3
has the rows of a sweep), nor how a run is simulated.
"""
