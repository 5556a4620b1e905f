"""Ten thousand generated bad inputs: no traceback, none over 20 s or 1 GiB, short messages that
name a place.

    python benchmarks/bench_fuzz.py                        10,000 cases
    python benchmarks/bench_fuzz.py --cases 500 --seed 7
    python benchmarks/bench_fuzz.py --first 3400           on from case 3400

Ctrl-C says how far it came. Exit code 1 where a case has a fault; each is printed with the
seed and number that give it again.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

from fuzzing import case_of, fault_of


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--asked", type=float, default=10.0, help="s: longer work, as estimated, is not agreed to"
    )
    parser.add_argument("--only", type=int, help="the case of this number alone")
    given = parser.parse_args()
    began, kinds, number = perf_counter(), Counter[str](), given.first
    numbers = range(given.first, given.cases) if given.only is None else (given.only,)
    try:
        for number in numbers:
            case = case_of(given.seed, number)
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                fault = fault_of(case, Path(folder), given.asked)
            if fault:
                kinds[fault.split(":")[0]] += 1
                print(f"seed {given.seed} case {number}: {fault}\n  {case}", flush=True)
            if number % 50 == 49:
                said = f"case {number} of {given.cases}, {perf_counter() - began:.0f} s"
                print(f"{said}, {kinds.total()} with a fault", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print(f"stopped in case {number}; go on: --seed {given.seed} --first {number}")
    spent = perf_counter() - began
    faults = kinds.total()
    print(f"to case {number} in {spent:.0f} s, {faults} with a fault {dict(kinds)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
