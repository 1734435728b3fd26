"""What changed between two campaigns, and whether a campaign's rates are a published one.

| module             | what it holds                                                                     |
|--------------------|-----------------------------------------------------------------------------------|
| `trials`           | the trials of one target: events, rho, digests; which of them two campaigns share |
| `pairing`          | which target of one campaign is compared with which of the other                  |
| `design`           | how trials of two campaigns may be compared, or why not                           |
| `changes`          | rates and rho of two sides, as values                                             |
| `rate_changes`     | rates, tested                                                                     |
| `rho_changes`      | rho, tested                                                                       |
| `lines`            | one line for each operator, dtype and pair of targets; p-values adjusted          |
| `detecting`        | which difference could have been seen                                             |
| `settings`         | versions, machines, options, plans that differ                                    |
| `fates`            | what became of findings: new, fixed, still there, not run                         |
| `campaigns`        | all of it together                                                                |
| `headline`         | the answer in a sentence or two                                                   |
| `published`        | a campaign's rates against a published count                                      |
| `plans`            | how many trials a comparison needs                                                |
| `report*`, `plain` | the same on a terminal, as JSON                                                   |
"""
