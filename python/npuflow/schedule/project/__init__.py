"""From the nest to the program of each engine: where buffers lie, who moves what, who waits for whom. Pure."""
