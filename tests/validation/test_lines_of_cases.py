"""Lines that drivers of frameworks leave, one for each case."""

import json

from c3sim.validation.frameworks.plan import write_line


def test_a_case_that_fails_keeps_what_it_has_and_costs_no_other(tmp_path):
    def fails(line):
        line["us"] = [1.0]
        raise RuntimeError("no memory")

    path = tmp_path / "lines.jsonl"
    with path.open("w") as file:
        write_line(file, {"case": "a"}, fails)
        write_line(file, {"case": "b"}, lambda line: line.update(us=[2.0]))
    first, second = map(json.loads, path.read_text().splitlines())
    assert first == {"case": "a", "us": [1.0], "error": "RuntimeError: no memory"}
    assert second == {"case": "b", "us": [2.0]}
