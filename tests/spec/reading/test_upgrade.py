"""Hardware files of schema 1 become schema 2: what changes, what stays, what old files answer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from loading_case import HWMODELS, errors_of

from c3sim.spec.libraries import PeerChannels
from c3sim.spec.reading.loading import load_hardware, load_node
from c3sim.spec.reading.upgrade import hardware_files, upgrade
from c3sim.spec.sourced import provenance

PACKAGED = hardware_files([HWMODELS])

# a GPU as schema 1 wrote it: no schema, old names, a fit told in words
FIT = (
    "calibrated 2026-11-21 on 137 records (data b621181f975194d2), median residual 1.1 %, 95 % "
    "interval\n"
    "      [700 GB/s, 900 GB/s]; start: a data sheet"
)
CHANGES = {
    "schema: 2\n": "",
    "saturation_exponent: ": "softness: ",
    "hbm:\n": "memory_cache: null\n\nhbm:\n",
    "max_packet_payload: ": "packet_bytes: ",
    "  bandwidth: {value: 250 GB/s, source: invented for teaching}\n": (
        "  bandwidth:  # of the stacks\n"
        "    value: 800 GB/s\n"
        f'    source: "{FIT}"\n'
        "    fitted: streams+copies\n"
        "    interval: [500 GB/s, 1 TB/s]\n"
    ),
}


pytestmark = pytest.mark.usefixtures("here")


def old_gpu():
    text = (HWMODELS / "teaching.yaml").read_text(encoding="utf-8")
    for new, old in CHANGES.items():
        assert text.count(new) == 1, new
        text = text.replace(new, old)
    Path("gpu.yaml").write_text(text, encoding="utf-8")
    return text


def node_with(gpu):
    text = (HWMODELS / "nodes" / "teaching-4.yaml").read_text(encoding="utf-8")
    return text.replace("gpu: teaching", f"gpu: {gpu}")


def test_an_old_file_becomes_one_that_loads_with_the_same_values():
    old = old_gpu()
    result = upgrade(Path("gpu.yaml"))
    assert result.changes == (
        "schema: 2",
        "memory_cache becomes memory_side_cache",
        "hbm.softness becomes saturation_exponent",
        "dma_engines.packet_bytes becomes max_packet_payload",
        "hbm.bandwidth.source becomes calibrated",
        "hbm.bandwidth.fitted becomes calibrated.suite",
    )
    Path("gpu.yaml").write_text(result.text, encoding="utf-8")
    Path("node.yaml").write_text(node_with("gpu.yaml"), encoding="utf-8")
    loaded, packaged = load_hardware("node.yaml"), load_hardware("teaching-4")
    assert loaded.node.gpu == packaged.node.gpu.changed(hbm__bandwidth=800e9)
    leaf = loaded.provenance["gpu.hbm.bandwidth"]
    fit = leaf.calibrated
    assert (fit.suite, fit.date, fit.records, fit.data, fit.residual, fit.interval) == (
        "streams+copies",
        "2026-11-21",
        137,
        "b621181f975194d2",
        0.011,
        (700e9, 900e9),
    )
    assert leaf.source == "a data sheet" and leaf.suites == ("streams", "copies")
    # in words it says what it said before
    assert provenance(leaf) == re.sub(r"\s+", " ", FIT)
    comments = [line.split("#")[1] for line in old.splitlines() if "#" in line]
    assert comments == [line.split("#")[1] for line in result.text.splitlines() if "#" in line]


def test_a_fit_on_one_line_stays_on_one_line():
    words = re.sub(r"\s+", " ", FIT)
    text = node_with("teaching").replace(
        "latency: {value: 1 us, source: invented for teaching}",
        f'latency: {{value: 1 us, source: "{words}", fitted: copies, interval: [0 us, 9 us]}}',
    )
    text = text.replace("700 GB/s, 900 GB/s", "0.5 us, 2 us")
    Path("node.yaml").write_text(text, encoding="utf-8")
    result = upgrade(Path("node.yaml"))
    Path("node.yaml").write_text(result.text, encoding="utf-8")
    leaf = load_hardware("node.yaml").provenance["links.latency"]
    assert leaf.calibrated.suite == "copies"
    assert leaf.calibrated.interval == (0.5e-6, 2e-6)


PART = """      peer_channels:
        rule: {value: power_of_two, source: "the only rule of files of schema 1"}
        part:
          value: 16 MiB
          source: "32 chunks
            of 512 KiB"
"""
BLOCK = """      direct_part:
        value: 16 MiB
        source: "32 chunks
          of 512 KiB"
"""
NEXT = "      store_bytes_per_cycle: {value: 9 B/cycle, source: me}\n"
LINE = "{value: 16 MiB, source: me}"


def test_a_field_that_is_one_of_a_group_now_takes_the_group_with_it():
    """``direct_part`` was the limit of a rule that had no name."""
    for old, new in {
        BLOCK: PART,
        f"      direct_part: {LINE}\n": PART[: PART.index("part:")] + f"part: {LINE}\n",
    }.items():
        text = f"schema: 2\ngpus: 2\nchannels:\n{old}{NEXT}"
        Path("node.yaml").write_text(text, encoding="utf-8")
        assert upgrade(Path("node.yaml")).text == text.replace(old, new)


def test_a_group_in_braces_stays_in_braces():
    text = f"schema: 2\ngpus: 2\nchannels: {{direct_part: {LINE}, maximum: 24}}\n"
    Path("node.yaml").write_text(text, encoding="utf-8")
    result = upgrade(Path("node.yaml"))
    rule = '{value: power_of_two, source: "the only rule of files of schema 1"}'
    assert result.text == text.replace(
        f"direct_part: {LINE}", f"peer_channels: {{rule: {rule}, part: {LINE}}}"
    )
    assert result.changes == ("channels.direct_part becomes peer_channels.part",)


def test_the_old_name_of_one_of_a_group_is_answered_with_its_place():
    text = (HWMODELS / "nodes" / "h200-2.yaml").read_text(encoding="utf-8")
    old = text[text.index("      peer_channels:\n") : text.index("      link_saturation_exponent:")]
    lines = errors_of(load_hardware, "node.yaml", text.replace(old, BLOCK))
    message = "channels: field 'direct_part' is called 'peer_channels.part' now; c3sim upgrade"
    assert any(message in line for line in lines), lines
    upgraded = upgrade(Path("node.yaml")).text
    Path("node.yaml").write_text(upgraded, encoding="utf-8")
    assert load_node("node.yaml") == _with_rule_and_part_alone(load_node("h200-2"))


def _with_rule_and_part_alone(node):
    """*node*, its NCCL without what schema 1 could not say about channels of peers."""
    nccl = node.collective_libraries["nccl"]
    rules = nccl.channels.peer_channels
    peers = PeerChannels(rule=rules.rule, part=rules.part)
    libraries = {**node.collective_libraries, "nccl": nccl.changed(channels__peer_channels=peers)}
    return node.changed(collective_libraries=libraries)


def test_a_file_of_schema_2_stays_as_it_is():
    file = HWMODELS / "nodes" / "teaching-4.yaml"
    result = upgrade(file)
    assert result.changes == () and result.text == file.read_text(encoding="utf-8")


def test_the_packaged_files_without_their_schema_get_it_back():
    """So they are of schema 2, and nothing else in them is of schema 1."""
    for file in PACKAGED:
        text = file.read_text(encoding="utf-8")
        Path(file.name).write_text(text.replace("schema: 2\n", "", 1), encoding="utf-8")
        result = upgrade(Path(file.name))
        assert (result.changes, result.text) == (("schema: 2",), text), file


def test_an_old_file_answers_with_one_line_that_names_the_command():
    old_gpu()
    lines = errors_of(load_hardware, "node.yaml", node_with("gpu.yaml"))
    assert lines == [
        "gpu.yaml:1: no schema; hardware files have schema: 2, and c3sim upgrade gpu.yaml rewrites"
        " old ones"
    ]
    lines = errors_of(load_hardware, "node.yaml", node_with("x").replace("schema: 2", "schema: 1"))
    assert len(lines) == 1 and lines[0].startswith("node.yaml:2: schema 1; hardware files have")


def test_an_old_name_is_answered_with_the_new_one():
    text = (HWMODELS / "teaching.yaml").read_text().replace("saturation_exponent:", "softness:")
    Path("gpu.yaml").write_text(text)
    lines = errors_of(load_hardware, "node.yaml", node_with("gpu.yaml"))
    message = "hbm: field 'softness' is called 'saturation_exponent' now; c3sim upgrade gpu.yaml"
    assert any(message in line for line in lines), lines


def test_a_fit_in_words_has_no_place_in_schema_2():
    text = node_with("teaching").replace(
        "latency: {value: 1 us, source: invented for teaching}",
        f'latency: {{value: 1 us, source: "{FIT}"}}',
        1,
    )
    lines = errors_of(load_hardware, "node.yaml", text)
    assert len(lines) == 1
    assert "links.latency.source: the source tells a fit in words, as in schema 1" in lines[0]
