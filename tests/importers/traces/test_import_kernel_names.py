"""The meaning of kernels' names."""

from __future__ import annotations

import pytest

from c3sim.importers.traces import classify

CIJK = "Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT256x224x64_MI16x16x1_SN_LDSB1"


@pytest.mark.parametrize(
    ("name", "kind", "library", "tile"),
    [
        (CIJK, "gemm", "hipblaslt", (256, 224)),
        ("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", "gemm", "cublas", (256, 128)),
        ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn", "gemm", "cublas", (128, 64)),
        (
            "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64_warpgroupsize1x1x1_execute",
            "gemm",
            "cublas",
            (128, 256),
        ),
        (
            (
                "void "
                "cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8>(x)"
            ),
            "gemm",
            "cublas",
            (256, 128),
        ),
        (
            (
                "void "
                "cutlass::device_kernel<cutlass3x_sm90_tensorop_s64x128x16gemm_bf16_bf16_f32_128x256x64_>(x)"
            ),
            "gemm",
            "cublas",
            (128, 256),
        ),
        ("_matmul_kernel", "gemm", "triton", None),
        ("ws_persistent_matmul", "gemm", "triton", None),
        ("triton_tem_fused_mm_0", "gemm", "triton", None),
        (
            "void at::native::vectorized_elementwise_kernel<8, at::native::GeluCUDAKernelImpl>(x)",
            "other",
            "",
            None,
        ),
        ("triton_poi_fused_comm_add_0", "other", "", None),
        ("void cublasLt::splitKreduce_kernel<32, 16>(x)", "other", "", None),
        ("void flash_fwd_kernel<gemm_traits>(x)", "other", "", None),
    ],
)
def test_gemms(name, kind, library, tile):
    found = classify(name)
    assert (found.kind, found.library, found.macro_tile) == (kind, library, tile)


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "all_gather"),
        (
            "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            "reduce_scatter",
        ),
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", "all_reduce"),
        ("ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", None),
        ("rccl_main_kernel", None),
    ],
)
def test_collectives(name, op):
    found = classify(name)
    assert (found.kind, found.op) == ("collective", op)
