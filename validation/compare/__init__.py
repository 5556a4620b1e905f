"""From records of measurements to a verdict: predictions, errors per suite, bounds.

A record's way: ``record_files`` (lines to records) -> ``measurements`` (repeats merged) ->
``predict`` and ``baselines`` -> ``figures`` (predicted beside measured) -> ``scores`` (errors per
suite and metric, per node) -> ``verdict``. It must not know how parameters are fitted, nor how
pages look.
"""
