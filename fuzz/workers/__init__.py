"""Worker processes: running foreign code so that its crash, hang or stray write costs a row and no campaign."""
