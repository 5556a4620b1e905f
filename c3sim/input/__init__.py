"""From text to specs: YAML with places, units, shapes of fields, paths, expressions, and every
mistake in one pass.

It knows specs and errors. It must not know the engine, machines or processes: reading a file runs nothing.
"""
