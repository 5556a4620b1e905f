"""Records predicted, figures per suite, plain predictors beside them, bounds and a verdict.

It must not know how parameters are fitted, nor how pages look.
"""
