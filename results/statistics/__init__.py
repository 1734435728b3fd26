"""Questions about a campaign's numbers, a module each. Pure functions: arrays or counts in, frozen structs out.

| question                                                   | module        |
|------------------------------------------------------------|---------------|
| how often                                                  | `proportions` |
| how often, while the campaign runs                         | `sequential`  |
| how often, with several trials of each problem             | `clustered`   |
| as often as published, as another campaign                 | `proportions` |
| which of two backends fails more often on the same trials  | `paired`      |
| which of two formulations is closer to the truth           | `closer`      |
| how bad once in a million trials                           | `tail`        |
| off to one side                                            | `bias`        |
| growing with the number of terms                           | `growth`      |
| which factor matters                                       | `factors`     |
| changed since                                              | `drift`       |
| how many trials are enough                                 | `planning`    |
| which of many differences are real                         | `multiple`    |

None of them knows how the numbers were drawn: `results.permitted` says which question a plan of trials supports.
`benchmarks/coverage.py` simulates what they promise. scipy.stats takes a second to import: they do it when called.
"""

from results.statistics.proportions import (
    Comparison,
    Interval,
    compare_with_published,
    one_sided_upper,
    rate_interval,
)

__all__ = ["Comparison", "Interval", "compare_with_published", "one_sided_upper", "rate_interval"]
