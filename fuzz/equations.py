"""The contractions that are operators, by name: what einsum is used for in networks. Read by operators and backends."""

from __future__ import annotations

EQUATIONS: dict[str, str] = {
    "einsum_low_rank": "btrc,ri,ic->btic",
    "einsum_bilinear": "bi,oij,bj->bo",
    "einsum_scores": "bqhd,bkhd->bhqk",
    "einsum_outer": "bi,bj->bij",
}
