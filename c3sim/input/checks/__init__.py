"""What a file must hold beyond the types of its fields, one module per kind of file.

It knows specs and formulas of limits. It must not know the simulation.
"""
