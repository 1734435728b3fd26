"""The oracle: what the right value is, and how much error rounding and conditioning excuse at each element."""
