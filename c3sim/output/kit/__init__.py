"""What all tables and pictures share: files, look, layout, numbers as text, step functions of time.

It knows no study, no sweep and no kind of picture.
"""
