"""A node as capacities on the fluid layer: what traffic draws on, clock and memory state, energy.

It knows specs, models and the engine. It must not know processes, or the kinds of tasks.
"""
