"""What a campaign asks for, what is left to run, and the directory that holds it."""
