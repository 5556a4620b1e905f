"""What happened when: spans of queues and engines, and counters of what was used, without any
viewer.
"""

import c3sim

result = c3sim.run("gemm-beside-all-gather", strategy="conccl", trace=True)
trace = result.trace

print("spans of GPU 0, the first of each track:")
for track in dict.fromkeys(span.track for span in trace.spans if span.track.startswith("gpu0.")):
    span = next(span for span in trace.spans if span.track == track)
    print(f"  {track:22} {span.name:8} {span.start * 1e3:5.2f} to {span.end * 1e3:5.2f} ms")


def mean(counter):
    """Time average of a step function."""
    ends = [*counter.times[1:], trace.end]
    return (
        sum(
            v * (end - start)
            for v, start, end in zip(counter.values, counter.times, ends, strict=True)
        )
        / trace.end
    )


print("means over the run:")
for counter in trace.counters:
    if counter.name in ("gpu0.compute_units", "gpu0.hbm", "gpu0.link[1].out", "gpu0.clock"):
        print(
            f"  {counter.name:18} {mean(counter) / counter.maximum:4.0%}"
            f" of {counter.maximum:.3g} {counter.unit}"
        )
