"""Clustered problems: few shapes, many recipes, the same in every process."""

from __future__ import annotations

from collections import Counter

from strategies.contract import Contract
from strategies.exploration import clusters


def test_a_cluster_shares_its_shape_and_varies_its_recipes(batch_norm: Contract) -> None:
    found = clusters(batch_norm, 3, 0, count=4, each=16)
    assert [len(cluster) for cluster in found] == [16] * 4
    shapes = [{(problem.dims, problem.attributes) for problem in cluster} for cluster in found]
    assert [len(shape) for shape in shapes] == [1] * 4
    assert len(set.union(*shapes)) == 4
    assert all(len({problem.recipes for problem in cluster}) == 16 for cluster in found)


def test_clusters_are_a_function_of_seed_and_chunk(matmul: Contract) -> None:
    found = clusters(matmul, 3, 1, count=2, each=5)
    assert found == clusters(matmul, 3, 1, count=2, each=5)
    assert found != clusters(matmul, 3, 2, count=2, each=5)
    assert found != clusters(matmul, 4, 1, count=2, each=5)


def test_clusters_may_hold_several_homes(matmul: Contract) -> None:
    (cluster,) = clusters(matmul, 0, 0, home=("float32", "float16"), count=1, each=24)
    assert Counter(problem.home for problem in cluster).keys() == {"float32", "float16"}
