"""Command lines, thin: what they do lives in the other rooms."""
