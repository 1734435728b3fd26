"""What a report says, as plain values: the same tables and sentences for a page of HTML and for Markdown."""
