"""Passes: registry, options, pipeline text, running, printing, reproducers."""
