"""What was seen: row schema, verdicts, store, statistics, reports."""
