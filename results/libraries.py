"""Which installed distributions a backend is, and their versions in an environment record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

DISTRIBUTIONS: dict[str, tuple[str, ...]] = {"tvm": ("apache-tvm",), "jax": ("jax", "jaxlib")}
"""Backends whose distribution has another name, or that are several."""


def distributions(backend: str) -> tuple[str, ...]:
    """Names of the distributions behind a backend, as in the environment record."""
    return DISTRIBUTIONS.get(backend, (backend,))


def versions_of(backend: str, environments: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(distribution, its versions in the order of `environments`); without those that no record names."""
    found = {
        name: tuple(dict.fromkeys(str(versions[name]) for versions in map(_versions, environments) if name in versions))
        for name in distributions(backend)
    }
    return tuple((name, versions) for name, versions in found.items() if versions)


def version_in(environment: Mapping[str, Any], name: str) -> str | None:
    """The version of a backend or distribution in one environment record; None where it is not named."""
    versions = _versions(environment)
    for distribution in (name, *distributions(name)):
        if distribution in versions:
            return str(versions[distribution])
    return None


def _versions(environment: Mapping[str, Any]) -> Mapping[str, Any]:
    versions = environment.get("versions", {})
    return versions if isinstance(versions, Mapping) else {}
