"""The command line: what each command reads, does and prints."""

from fuzz.cli.app import main as main
