"""Which rtol and atol a test should use, read off the rows of a campaign.

A test `numpy.testing.assert_allclose(got, want, rtol=r, atol=a)` of a whole output passes if and only if a is at least
the trial's A(r) = max_i (|error_i| - r |truth_i|). Rows hold A(r) for a few r (`results.columns.ALLOWANCES`, and r = 0:
`abs_max`), so that it is known of every trial which pairs pass. `needs` reads them, `levels` says how large A(r) gets
once in 1/flake trials, `choice` picks the pair, `advice` puts it together for a campaign, `text` prints it.

A(r) is an error in units of the output, not a relative one: with r > 0 it no longer holds the elements that cancel by
so much that only their relative error is large. The relative error itself (atol = 0) is never extrapolated.
"""
