"""Whether the parts of a schedule fit together, and whether a device can carry it out. Pure."""
