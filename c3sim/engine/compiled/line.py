"""Lines of the arrays of :class:`c3sim.engine.compiled.table.Table`: one per quantity."""

NONE = -1  # no use, no row, no capacity

# Lines of ``flows``. SETTLED: when REMAINING was last true; CAP_LEVEL: where it meets its cap;
# REACHED: the level at which it stopped rising (sharing.py).
WEIGHT, CAP, REMAINING, RATE, SETTLED, CAP_LEVEL, REACHED = range(7)
# Lines of ``rows``. BOTTLENECK: the capacity at which it stopped rising, NONE: its cap; CAP_HEAP: a
# heap by CAP_LEVEL.
USE_COUNT, ACTIVE, MARKED, BOTTLENECK, CONNECTED_ROWS, CAP_HEAP, DUE = range(7)
# Lines of ``uses``. NEXT, PREVIOUS: neighbours among the uses of the same capacity.
ROW, INDEX, NEXT, PREVIOUS = range(4)
# Lines of ``capacities``. LEFT, SLOPE, FULL, LEVEL: while rates are solved; LEFT_AT_LEVEL,
# SLOPE_AT_LEVEL: LEFT and SLOPE when it was exhausted (SLOPE_AT_LEVEL 0: it was not), and what has
# come and gone since.
VALUE, LEFT, SLOPE, FULL, LEVEL, LEFT_AT_LEVEL, SLOPE_AT_LEVEL = range(7)
# Lines of ``indices``. FIRST: of its uses; LEVEL_HEAP: a heap by LEVEL.
FIRST, RISING_USERS, SEEN, CONNECTED_CAPACITIES, LEVEL_HEAP = range(5)
# Places in ``connected``: how large the connected set is, and the mark of its members.
ROW_COUNT, CAPACITY_COUNT, MARK = range(3)
FLOW_LINES, ROW_LINES, USE_LINES, CAPACITY_LINES, INDEX_LINES = 7, 7, 4, 7, 5
