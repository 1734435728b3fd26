"""From a finding to the smallest case that fails in the same way: parameters, dims, elements, digits, schedules."""
