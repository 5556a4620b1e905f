"""Whole iterations of a model: from a description to a workload of kernels and collectives, run,
and measured.

=============  ===============================================================================
operators.py   FLOP, bytes and workgroups of each operator, from first principles
scores.py      attention that keeps its scores in memory
experts.py     a mixture of experts in place of a layer's network
load.py        rows that experts get, and how they get there
latent.py      latent attention of a layer
layers.py      forward and backward of a layer as operators; embedding, head and loss
dlrm.py        the same of a recommendation model
optimizers.py  AdamW and LAMB, fused or tensor list by tensor list
units.py       what comes before the layers, the layers, what comes after
parallel.py    collectives of data parallelism and what waits for them: ddp, fsdp
mesh.py        groups of GPUs, where kinds of parallelism nest
pipeline.py    stages that hand on micro batches
builder.py     tasks in the order of launches
build.py       a description as a workload: streams, dependencies, launches
memory.py      bytes that a GPU needs
runs.py        the runs of a few layers, and what a layer adds
measured.py    a description, measured by them
measure.py     its result
result.py      what that has
described.py   a description in the place of a workload: set by path, run, explained
=============  ===============================================================================

It knows models, frameworks and workloads. It must not know any device: parts of the peak that
operators reach are numbers of the GPU file.
"""
