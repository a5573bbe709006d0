"""Functions and schedules in, what can be timed, executed and verified out."""
