"""What all tables and pictures share: files, look, layout, numbers as text, step functions of time.

It must not know studies, sweeps or kinds of pictures.
"""
