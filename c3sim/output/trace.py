"""The timeline as a Perfetto trace, for ui.perfetto.dev or Perfetto's trace processor.

- Each GPU, and the host, is a group (a "process").
- A group has a track per queue, engine and link, then counter tracks per resource: in total and by
  task, power also by component.
- On a track slices follow each other, or nest where both belong to one task. Spans that overlap
  otherwise go to numbered siblings of the track ("dma[3] #2").
- Timestamps are in ns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from c3sim.kit.files import AnyPath, write_bytes
from c3sim.kit.text import natural
from c3sim.result import Counter, Span, Timeline

UNITS = {"B/s": ("GB/s", 1e9), "Hz": ("MHz", 1e6), "W": ("W", 1.0), "1": ("count", 1.0)}
WRITER = 1  # all packets form one sequence

Event = tuple[int, dict[str, Any]]  # time in ns, fields of the TrackEvent


def write_perfetto(timeline: Timeline, path: AnyPath) -> None:
    """Write *timeline* to *path* in Perfetto's binary format. Raises InputError if it cannot."""
    write_bytes(path, perfetto_trace(timeline))


def perfetto_trace(timeline: Timeline) -> bytes:
    """The serialised trace: descriptors of all tracks, then events in order of time."""
    from perfetto.trace_builder.proto_builder import TraceProtoBuilder

    builder = TraceProtoBuilder()
    tracks = _Tracks(builder)
    by_track: dict[str, list[Span]] = {}
    for span in timeline.spans:
        by_track.setdefault(span.track, []).append(span)
    events: list[Event] = []
    for track in sorted(by_track, key=natural):
        owner, row = by_track[track][0].owner, by_track[track][0].row
        for number, lane in enumerate(lanes(by_track[track]), start=1):
            suffix = "" if number == 1 else f" #{number}"
            uuid = tracks.add(owner, (row or owner) + suffix, track + suffix)
            events += _slices(uuid, lane)
    for counter in sorted(timeline.counters, key=lambda c: natural(c.name)):
        events += _points(tracks, counter, timeline.component_names)
    events.sort(key=lambda event: event[0])  # stable: on a track an end stays before a begin
    for time_ns, fields in events:
        builder.trace.packet.add(
            trusted_packet_sequence_id=WRITER, timestamp=time_ns, track_event=fields
        )
    return bytes(builder.serialize())


def lanes(spans: Sequence[Span]) -> list[list[Span]]:
    """Deal *spans* of one track to lanes by first fit; on a lane they follow each other or nest.

    A span nests only in one of its own task: two commands that overlap by chance are separate.
    """
    dealt: list[list[Span]] = []
    # per lane, the spans that later ones may nest in, outermost first
    open_spans: list[list[Span]] = []
    for span in sorted(spans, key=lambda s: (ns(s.start), -ns(s.end))):
        for stack in open_spans:
            while stack and ns(stack[-1].end) <= ns(span.start):
                stack.pop()
        free = (n for n, stack in enumerate(open_spans) if not stack or _contains(stack[-1], span))
        number = next(free, len(dealt))
        if number == len(dealt):
            dealt.append([])
            open_spans.append([])
        dealt[number].append(span)
        open_spans[number].append(span)
    return dealt


def _contains(outer: Span, inner: Span) -> bool:
    """True if *inner*, which starts no earlier, may nest in *outer*."""
    return outer.task == inner.task and ns(outer.end) >= ns(inner.end)


class _Tracks:
    """Hands out track ids and writes the descriptors of tracks and groups."""

    def __init__(self, builder: Any):
        self._builder = builder
        self._groups: dict[str, int] = {}
        self._count = 0

    def add(
        self, group: str, name: str, description: str, counter: dict[str, Any] | None = None
    ) -> int:
        """The id of a new track *name* of *group* ("gpu0", "host")."""
        if group not in self._groups:
            pid = len(self._groups) + 1
            order = {"child_ordering": "EXPLICIT", "description": f"c3sim {group}"}
            self._groups[group] = self._describe(
                process={"pid": pid, "process_name": group}, **order
            )
        extra = {"counter": counter} if counter is not None else {"child_ordering": "CHRONOLOGICAL"}
        where = {"parent_uuid": self._groups[group], "sibling_order_rank": self._count}
        return self._describe(name=name, description=description, **where, **extra)

    def _describe(self, **fields: Any) -> int:
        self._count += 1
        descriptor = {"uuid": self._count, **fields}
        self._builder.trace.packet.add(
            trusted_packet_sequence_id=WRITER, track_descriptor=descriptor
        )
        return self._count


def _slices(track: int, lane: Sequence[Span]) -> Iterator[Event]:
    """Begin and end events of the spans of one lane, an inner slice closed before the outer one."""
    open_spans: list[Span] = []
    for span in lane:
        while open_spans and ns(open_spans[-1].end) <= ns(span.start):
            yield _end(track, open_spans.pop())
        detail = [
            _annotation(key, value) for key, value in {"task": span.task, **span.detail}.items()
        ]
        begin = {"type": "TYPE_SLICE_BEGIN", "track_uuid": track, "name": span.name}
        yield ns(span.start), {**begin, "categories": [span.task], "debug_annotations": detail}
        open_spans.append(span)
    while open_spans:
        yield _end(track, open_spans.pop())


def _end(track: int, span: Span) -> Event:
    return ns(span.end), {"type": "TYPE_SLICE_END", "track_uuid": track}


def _points(tracks: _Tracks, counter: Counter, names: Mapping[str, str]) -> Iterator[Event]:
    """Counter events of the total, of each task's part and of each component's."""
    unit, scale = UNITS.get(counter.unit, (counter.unit, 1.0))
    limit = "" if counter.maximum is None else f", at most {counter.maximum / scale:g} {unit}"
    parts = {f" ({task})": values for task, values in counter.by_task.items()}
    parts |= {f": {names.get(key, key)}": values for key, values in counter.by_component.items()}
    for part, values in {"": counter.values, **parts}.items():
        description = f"{counter.name}{part}{limit}"
        name = counter.place.name + part
        track = tracks.add(counter.place.owner_name, name, description, {"unit_name": unit})
        for time, value in zip(counter.times, values, strict=True):
            point = {"type": "TYPE_COUNTER", "double_counter_value": float(value) / scale}
            yield ns(time), {**point, "track_uuid": track}


def _annotation(name: str, value: Any) -> dict[str, Any]:
    """One debug annotation; an unknown type becomes text."""
    if isinstance(value, bool):
        return {"name": name, "bool_value": value}
    if isinstance(value, int) and abs(value) < 2**63:
        return {"name": name, "int_value": value}
    if isinstance(value, float):
        return {"name": name, "double_value": value}
    if isinstance(value, Mapping):
        return {
            "name": name,
            "dict_entries": [_annotation(str(key), item) for key, item in value.items()],
        }
    if isinstance(value, list | tuple):
        return {"name": name, "array_values": [_annotation("", item) for item in value]}
    return {"name": name, "string_value": str(value)}


def ns(seconds: float) -> int:
    """Whole nanoseconds."""
    return round(seconds * 1e9)
