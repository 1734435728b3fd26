"""The report as Markdown, to be pasted into an issue."""
