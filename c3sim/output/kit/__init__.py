"""What all pictures and tables share: writing files, the look, tables, numbers as text, step functions.

It knows no study, no sweep and no kind of picture.
"""
