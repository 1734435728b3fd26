"""Stand-alone reproduction of a finding: smaller inputs, a script without ulpfuzz, a report, a test, a case file."""
