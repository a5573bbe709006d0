"""What a person or a program wants to know about a compiled function: text, JSON, a trace, a page."""
