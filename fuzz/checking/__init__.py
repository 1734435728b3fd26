"""Other people's functions: what they are, how they are called, and what a check of them says."""
