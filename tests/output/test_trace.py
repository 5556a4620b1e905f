"""The trace read back with Perfetto's own classes says what the timeline says."""

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from c3sim.errors import InputError
from c3sim.models.capacity import Capacity
from c3sim.output.trace import lanes, perfetto_trace, write_perfetto
from c3sim.result import Counter, Span, Timeline


def read(data):
    """Track names ("group/track") -> slices as (name, begin, end, annotations), and -> counter
    points.
    """
    trace, groups, names, slices, points, stacks = Trace.FromString(data), {}, {}, {}, {}, {}
    last = 0
    for packet in trace.packet:
        track = packet.track_descriptor
        if packet.HasField("track_descriptor"):
            if track.HasField("process"):
                groups[track.uuid] = track.process.process_name
            else:
                names[track.uuid] = f"{groups[track.parent_uuid]}/{track.name}"
            continue
        event, name = packet.track_event, names[packet.track_event.track_uuid]
        assert packet.timestamp >= last, "events are in order of time"
        last = packet.timestamp
        if event.type == TrackEvent.TYPE_COUNTER:
            points.setdefault(name, []).append((packet.timestamp, event.double_counter_value))
        elif event.type == TrackEvent.TYPE_SLICE_BEGIN:
            stacks.setdefault(name, []).append((packet.timestamp, event))
        else:  # an end closes the innermost slice of its track
            begin, opened = stacks[name].pop()
            notes = {note.name: note for note in opened.debug_annotations}
            slices.setdefault(name, []).append((opened.name, begin, packet.timestamp, notes))
    assert not any(stacks.values()), "every slice is closed"
    return slices, points


def span(start, end, task="a", name="x", owner="gpu0", row="dma[0]", **detail):
    times = {"start": start * 1e-9, "end": end * 1e-9}
    return Span(owner=owner, row=row, name=name, task=task, detail=detail, **times)


def test_slices_equal_spans(timeline):
    slices, _ = read(perfetto_trace(timeline))
    found = {
        (track.split(" #")[0].replace("/", ".", 1), name, begin, end, notes["task"].string_value)
        for track, entries in slices.items()
        for name, begin, end, notes in entries
    }
    wanted = {
        (
            "host.host" if s.track == "host" else s.track,
            s.name,
            round(s.start * 1e9),
            round(s.end * 1e9),
            s.task,
        )
        for s in timeline.spans
    }
    assert found == wanted and sum(map(len, slices.values())) == len(timeline.spans)


def test_overlapping_commands_go_to_numbered_siblings(timeline):
    slices, _ = read(perfetto_trace(timeline))
    assert [entry[1:3] for entry in slices["gpu0/dma[0]"]] == [(500_000, 1_500_000)]
    assert [entry[1:3] for entry in slices["gpu0/dma[0] #2"]] == [(1_000_000, 2_000_000)]


def test_lanes_follow_or_nest_within_one_task():
    outer, inner, after = span(0, 10), span(2, 5), span(10, 12)
    assert lanes([after, inner, outer]) == [[outer, inner, after]]
    other = span(2, 5, task="b")  # inside by chance: another task's
    assert lanes([outer, other]) == [[outer], [other]]
    crossing = span(5, 15)
    assert lanes([outer, crossing, span(15, 16)]) == [[outer, span(15, 16)], [crossing]]


def test_slices_that_touch_or_take_no_time_stay_apart():
    spans = [span(0, 5, name="one"), span(5, 5, name="fence"), span(5, 9, name="two")]
    slices, _ = read(perfetto_trace(Timeline(spans=spans, counters=[], end=9e-9)))
    assert sorted(entry[:3] for entry in slices["gpu0/dma[0]"]) == [
        ("fence", 5, 5),
        ("one", 0, 5),
        ("two", 5, 9),
    ]


def test_counters_have_units_a_person_reads(timeline):
    data = perfetto_trace(timeline)
    _, points = read(data)
    assert points["gpu0/hbm"] == [
        (0, 1500.0),
        (500_000, 1900.0),
        (2_000_000, 1500.0),
        (3_000_000, 0.0),
    ]
    assert points["gpu0/hbm (gather)"][1] == (500_000, 900.0)
    assert points["gpu0/clock"][1] == (500_000, 1800.0)
    tracks = [packet.track_descriptor for packet in Trace.FromString(data).packet]
    units = {track.name: track.counter.unit_name for track in tracks if track.HasField("counter")}
    assert units["hbm"] == "GB/s" and units["clock"] == "MHz" and units["power"] == "W"
    assert units["compute_units"] == "count" and units["link[2].out"] == "GB/s"
    said = {track.name: track.description for track in tracks}
    assert said["hbm"] == "gpu0.hbm, at most 5300 GB/s"


def test_an_unknown_unit_is_shown_as_it_is():
    counter = Counter(place=Capacity("gpu", 0, "heat"), unit="K", times=[0.0], values=[300.0])
    _, points = read(perfetto_trace(Timeline(spans=[], counters=[counter], end=1.0)))
    assert points == {"gpu0/heat": [(0, 300.0)]}


def test_detail_of_every_kind_becomes_annotations():
    detail = {
        "n": 3,
        "huge": 2**70,
        "on": True,
        "share": 0.5,
        "tile": "256x256",
        "peers": [1, 2],
        "of": {"m": 1},
    }
    slices, _ = read(perfetto_trace(Timeline(spans=[span(0, 1, **detail)], counters=[], end=1e-9)))
    notes = slices["gpu0/dma[0]"][0][3]
    assert (notes["n"].int_value, notes["on"].bool_value, notes["share"].double_value) == (
        3,
        True,
        0.5,
    )
    assert (notes["tile"].string_value, notes["huge"].string_value) == ("256x256", str(2**70))
    assert [note.int_value for note in notes["peers"].array_values] == [1, 2]
    assert [(note.name, note.int_value) for note in notes["of"].dict_entries] == [("m", 1)]


def test_tracks_stand_in_the_order_of_their_numbers():
    spans = [span(0, 1, owner=f"gpu{gpu}", row=f"dma[{n}]") for gpu in (1, 0) for n in (10, 2)]
    packets = Trace.FromString(perfetto_trace(Timeline(spans=spans, counters=[], end=1e-9))).packet
    tracks = [packet.track_descriptor for packet in packets if packet.HasField("track_descriptor")]
    names = [track.name or track.process.process_name for track in tracks]
    assert names == ["gpu0", "dma[2]", "dma[10]", "gpu1", "dma[2]", "dma[10]"]
    assert [track.process.pid for track in tracks if track.HasField("process")] == [1, 2]


def test_an_empty_timeline_is_a_valid_trace():
    assert read(perfetto_trace(Timeline(spans=[], counters=[], end=0.0))) == ({}, {})


def test_an_unwritable_place(timeline, tmp_path):
    with pytest.raises(
        InputError, match=r"missing.*cannot write: no such file or directory; allowed: "
    ):
        write_perfetto(timeline, tmp_path / "missing" / "a.pftrace")


def test_power_by_component_has_a_track_per_component_in_the_files_words():
    power = Counter(
        place=Capacity("gpu", 0, "power"),
        unit="W",
        times=[0.0, 1e-9],
        values=[30.0, 20.0],
        by_task={"a": [10.0, 0.0]},
        by_component={"memory_side_cache": [10.0, 0.0], "idle": [20.0, 20.0]},
    )
    names = {"memory_side_cache": "Infinity Cache"}
    _, points = read(
        perfetto_trace(Timeline(spans=[], counters=[power], end=2e-9, component_names=names))
    )
    assert points == {
        "gpu0/power": [(0, 30.0), (1, 20.0)],
        "gpu0/power (a)": [(0, 10.0), (1, 0.0)],
        "gpu0/power: Infinity Cache": [(0, 10.0), (1, 0.0)],
        "gpu0/power: idle": [(0, 20.0), (1, 20.0)],
    }
