"""What to try: contracts, problems, recipes, sampling, and Hypothesis strategies over all of it."""
