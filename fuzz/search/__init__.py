"""The plan `search`: an evolutionary search for inputs with large errors. Nothing it finds is a rate."""
