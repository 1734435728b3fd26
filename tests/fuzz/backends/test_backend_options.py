"""Options reach the library, are scoped to the call, and leave no trace in the process."""

from __future__ import annotations

import importlib.metadata

import numpy as np
import pytest
from backend_cases import CASES, bind

from fuzz.backends import BACKENDS, jax_backend
from fuzz.backends.base import Unsupported
from fuzz.campaigns.environment import cpu

MATMUL = CASES["matmul"]
LARGE = {"shapes": {"a": (32, 64), "b": (64, 32)}, "output": (32, 32)}
USED = {"reduce_axis": ("softmax", ""), "memory_format": ("batch_norm", ""), "opt_einsum": ("matmul", "einsum")}
"""Case and formulation that an option means something for; the first of matmul otherwise."""
HAS_FMA = "fma" in cpu()[1]


def test_every_option_value_runs(library: str) -> None:
    backend = BACKENDS[library]
    for option in backend.options:
        assert (option.default in option.choices) != bool(option.canonical)
        case, name = USED.get(option.name, ("matmul", ""))
        named = [i for i in backend.implementations[CASES[case].operator] if name in ("", i.name)]
        for value in option.choices or (option.default, option.example):
            if value == "inductor":  # compiles for seconds: in test_torch_options
                continue
            bound = bind(library, CASES[case], "float32", named[0], **{option.name: value})
            np.testing.assert_allclose(bound.kernel()[0], bound.value(CASES[case]), rtol=0.05, atol=0.05)  # bfloat16


def test_an_unknown_device_is_unsupported(library: str) -> None:
    with pytest.raises(Unsupported, match="cuda:99"):
        bind(library, MATMUL, "float32", device="cuda:99")


def test_versions_are_those_installed(library: str) -> None:
    distribution = {"tvm": "apache-tvm"}.get(library, library)
    assert BACKENDS[library].versions()[distribution] == importlib.metadata.version(distribution)


@pytest.mark.parametrize("mode", ["jit", "eager"])
def test_jax_float64_does_not_leak_into_the_process(mode: str) -> None:
    jnp = pytest.importorskip("jax.numpy")
    bound = bind("jax", CASES["gelu"], "float64", mode=mode)
    for _ in range(2):
        assert bound.kernel()[0].dtype == "float64"
        assert jnp.asarray(1.0).dtype == "float32"
        assert jnp.sum(np.ones(3)).dtype == "float32"


def test_jax_kernels_of_both_precisions_live_side_by_side() -> None:
    pytest.importorskip("jax")
    case = CASES["layer_norm"]
    kernels = [bind("jax", case, dtype, mode=mode) for dtype in ("float64", "float32") for mode in ("jit", "eager")]
    for bound in [*kernels, *reversed(kernels)]:
        result = bound.kernel()[0]
        assert result.dtype == bound.inputs["x"].dtype
        np.testing.assert_allclose(result, bound.value(case), atol=20 * np.finfo(result.dtype).eps)


def test_eager_jax_kernels_outlive_the_emptying_of_jaxs_caches() -> None:
    pytest.importorskip("jax")
    first = bind("jax", CASES["exp"], "float32", mode="eager")
    before = first.kernel()[0].copy()
    for _ in range(jax_backend.EAGER_KERNELS_KEPT):
        bind("jax", CASES["exp"], "float32", mode="eager")
    assert first.kernel()[0].tobytes() == before.tobytes()


def test_jax_shares_the_engines_memory() -> None:
    jnp = pytest.importorskip("jax.numpy")
    bound = bind("jax", MATMUL, "float32")
    view = jnp.from_dlpack(bound.inputs["a"], copy=False)
    assert view.unsafe_buffer_pointer() == bound.inputs["a"].ctypes.data


def test_torch_settings_are_put_back() -> None:
    torch = pytest.importorskip("torch")
    before = torch.backends.mkldnn.enabled, torch.get_float32_matmul_precision(), torch.is_inference_mode_enabled()
    bind("torch", MATMUL, "float32", mkldnn="off", matmul_precision="medium").kernel()
    after = torch.backends.mkldnn.enabled, torch.get_float32_matmul_precision(), torch.is_inference_mode_enabled()
    assert after == before


def test_torch_settings_are_put_back_when_the_call_raises() -> None:
    torch = pytest.importorskip("torch")
    bound = bind("torch", MATMUL, "float32", shapes={"a": (2, 3), "b": (4, 5)}, mkldnn="off")
    with pytest.raises(RuntimeError):
        bound.kernel()
    assert torch.backends.mkldnn.enabled


def test_tvm_for_this_cpu_says_which() -> None:
    pytest.importorskip("tvm")
    generic, host = (bind("tvm", MATMUL, "float32", mcpu=mcpu, **LARGE) for mcpu in ("generic", "host"))
    assert generic.kernel.facts["mcpu"] == "generic"
    assert host.kernel.facts["mcpu"] not in ("generic", "")
    np.testing.assert_allclose(generic.kernel()[0], host.kernel()[0], atol=64 * 2.0**-24 * 8)


@pytest.mark.skipif(not HAS_FMA, reason="this CPU has no fused multiply-add")
def test_tvm_fma_changes_the_bits_of_a_matrix_product() -> None:
    pytest.importorskip("tvm")

    def bits(**options: str) -> bytes:
        return bind("tvm", MATMUL, "float32", **LARGE, **options).kernel()[0].tobytes()

    assert bits(fma="off") == bits()
    assert bits(fma="on") != bits()
    assert bits(fma="on") == bits(mcpu="host")
    assert bits(mcpu="host", fma="off") == bits()


def test_tvm_compile_errors_are_one_line() -> None:
    pytest.importorskip("tvm")
    from fuzz.backends.tvm_backend import CompileError
    from fuzz.extend import Implementation

    def float16_erf(x: object) -> object:
        from tvm import te, topi

        data = te.placeholder((4,), "float16", name="x")
        return te.create_prim_func([data, topi.erf(data)])

    broken = Implementation("exp", "broken", "user", "erf in float16", float16_erf)
    with pytest.raises(CompileError) as raised:
        bind("tvm", CASES["exp"], "float32", broken)
    assert "\n" not in str(raised.value)
