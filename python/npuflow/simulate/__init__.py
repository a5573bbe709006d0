"""The simulator: a flat program of engines, and its times, its data and its faults."""
