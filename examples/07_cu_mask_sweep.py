"""How many compute units does a GEMM need? A mask on its stream, from all 304 down; alone and
beside an all-gather.
"""

import c3sim

print("CUs of the GEMM   GEMM alone (ms)   GEMM together (ms)   all-gather together (ms)")
for units in (304, 296, 288, 272, 240, 176):
    result = c3sim.run("gemm-beside-all-gather", set={"stream.compute.compute_units": units})
    gemm, gather = result.tasks["gemm"], result.tasks["gather"]
    print(
        f"{units:15} {gemm.isolated_s * 1e3:17.1f} {gemm.time_s * 1e3:20.1f}"
        f" {gather.time_s * 1e3:26.1f}"
    )
