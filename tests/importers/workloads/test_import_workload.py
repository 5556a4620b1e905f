"""``c3sim import --as workload`` on a real job: two steps of four Llama-3-8B layers, FSDP, AdamW.

data/fsdp_h200x2: both ranks' traces from PyTorch's profiler on two H200, an own measurement, cut to
its second and third marked step and to what the importer reads. data/fsdp_forward_h200x2: a
forward pass of six layers, all three marked steps, made and cut in the same way.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_case import invoke
from kineto_case import MadeTrace
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from c3sim.spec.reading.loading import load_workload

pytestmark = pytest.mark.turns(5)

JOB = Path(__file__).parents[1] / "data" / "fsdp_h200x2"


def command(*words):
    return invoke("import", *words, "--as", "workload", "--node", "h200-2")


@pytest.mark.long
def test_a_real_step_is_replayed_within_5_percent(tmp_path):
    """Both ranks, from their folder. The file holds what the replay ran. Two steps went before it
    at the power limit: it is a turn of a loop. What a GEMM took alone it took at the limit's clock,
    so an idle GPU is faster: the model says so, and the file.
    """
    out = tmp_path / "step.yaml"
    done = command(JOB, "--iteration", 2, "--out", out, "--json")
    shown = json.loads(done.stdout)
    assert done.exit_code == 0, done.stderr
    assert shown["iteration"] == "ProfilerStep#2"
    assert shown["wall_s"] == pytest.approx(0.049, rel=0.01)
    assert abs(shown["error"]) < 0.05
    assert 0 < shown["exposed_s"] < 0.003
    workload = load_workload(str(out))
    kinds = [task.kind for task in workload.tasks.values()]
    assert (len(kinds), kinds.count("collective"), kinds.count("gemm")) == (310, 12, 48)
    assert all(guess in workload.description for guess in shown["guessed"])
    assert workload.host.loop.iterations == 4
    assert "alone at the power limit" in workload.description


def test_a_step_at_a_lowered_clock_is_replayed_at_it(tmp_path):
    """A forward pass of six layers, both ranks: its third step ran at some 80 % of the clock, which
    its kernels alone show. With the limit of the data sheet the replay is 14 % too short."""
    out = tmp_path / "step.yaml"
    done = command(JOB.parent / "fsdp_forward_h200x2", "--iteration", 2, "--out", out, "--json")
    shown = json.loads(done.stdout)
    assert shown["wall_s"] == pytest.approx(0.049149, rel=1e-3)
    assert abs(shown["error"]) < 0.05
    assert 0.7 < load_workload(str(out)).host.power_share < 0.9
    assert any("of the power limit" in guess for guess in shown["guessed"])


def test_one_rank_alone_is_replayed_and_said_to_be_one(tmp_path):
    made = MadeTrace(ranks=2)
    for number in range(8):
        made.kernel("a", 50 * number, 46, called=50 * number - 8)
    source = tmp_path / "rank0.json"
    source.write_text(made.text())
    shown = json.loads(command(source, "--json").stdout)
    assert "traces of 1 of 2 ranks: all do as this one does" in shown["guessed"]


def test_perfetto_shows_the_original_beside_its_replay(tmp_path):
    """Per stream a track of the trace above one of the replay, in the first group, from the same
    begin: the seventh kernel comes 300 us later in both."""
    made = MadeTrace.short()
    source, trace = tmp_path / "made.json", tmp_path / "both.pftrace"
    source.write_text(made.text())
    done = command(source, "--trace", trace)
    assert done.exit_code == 0, done.stderr
    shown = Trace.FromString(trace.read_bytes())
    tracks = {packet.track_descriptor.uuid: packet.track_descriptor for packet in shown.packet}
    begins = {}
    for packet in shown.packet:
        if packet.track_event.type == TrackEvent.TYPE_SLICE_BEGIN:
            track = tracks[packet.track_event.track_uuid]
            owner = tracks[track.parent_uuid].process
            if packet.track_event.name in ("kernel_1", "kernel_7"):
                place = (owner.process_name, track.name, packet.track_event.name)
                begins[place] = packet.timestamp
                assert owner.pid == 1 or not owner.process_name.startswith("both")
    both, first, last = "both: trace and replay", "kernel_1", "kernel_7"
    trace, replay = "compute 1 trace", "compute 2 replay"
    assert begins[both, trace, first] == pytest.approx(begins[both, replay, first], abs=2)  # ns
    assert begins[both, trace, last] - begins[both, trace, first] == pytest.approx(300e3, abs=2)
    assert begins[both, replay, last] == begins["gpu0", "stream.compute", last]
    assert begins[both, replay, last] == pytest.approx(begins[both, trace, last], abs=1000)


def test_wrong_options_are_refused(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "no trace in it" in command(empty).stderr
    both = command(JOB / "rank0.json.gz", JOB / "rank0.json.gz")
    assert both.exit_code == 2 and "traces of ranks 0, 0" in both.stderr
    missing = command(JOB / "rank0.json.gz", "--iteration", 7)
    assert missing.exit_code == 2 and "iterations marked: 2, 3" in missing.stderr
