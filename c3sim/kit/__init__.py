"""Common parts of tables and pictures: files, look, layout, numbers as text, step functions of
time.

It must not know studies, sweeps or kinds of pictures.
"""
