"""What an inference engine serves, and how: the ``serving`` part of a study."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from c3sim.specs.base import Spec
from c3sim.specs.quantities import Fraction, Parts, Pieces, Positive, Workgroups

Tokens = Annotated[int, Field(gt=0, le=10_000_000)]


class Serving(Spec):
    """Requests with a prompt whose beginning is, in part, in host memory as keys and values (KV) of
    an earlier one.
    """

    model: str = "llama-3-8b"
    """name or file of a model (workloads/models)"""
    tensor_parallel: Parts = 1
    """GPUs that share every layer; the node is cut to as many"""
    block_tokens: Tokens = 16
    """tokens of one KV block; vLLM's default is 16"""
    layout: Literal["per_layer", "contiguous"] = "per_layer"
    """what lies together in memory, so what one copy moves: a block of one layer, or of all
    layers"""
    load: Literal["async", "blocking", "layerwise"] = "async"
    """async: a request waits for its whole prefix while others' steps go on; blocking: everybody
    waits; layerwise: its first step begins when the first layer's blocks are there, the others
    arrive beside it"""
    submitter: Literal["worker", "own"] = "worker"
    """who submits copies: the thread that launches the steps, or a thread of its own"""
    prompt_tokens: Tokens = 4096
    output_tokens: Tokens = 128
    """tokens generated per request, the first one included"""
    hit_rate: Fraction = 0.9
    """share of the prompt whose KV is in host memory; whole blocks"""
    requests: Pieces = 64
    arrivals_per_second: Positive | None = None
    """Poisson arrivals; left out: all requests are there at the start"""
    seed: int = 0
    """of the arrivals"""
    batch_tokens: Tokens = 8192
    """tokens of one step at most; longer prompts go in chunks"""
    max_sequences: Tokens = 256
    """requests that are admitted at a time"""
    memory_share: Fraction = 0.9
    """share of GPU memory for weights and KV; vLLM's default"""
    gather_workgroups: Workgroups = 8
    """workgroups of a gather kernel; 4 fill the host link of MI300X, 8 put one on each die"""
    attention_efficiency: Fraction = Field(0.5, gt=0)
    """share of the matrix peak that attention over a prompt reaches; an estimate, 0.3 to 0.7:
    FlashAttention-2 (arXiv 2307.08691) reaches 0.5 to 0.73 on A100"""
