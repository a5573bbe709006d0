"""How little an op can move between two memories: what is compulsory, lower bounds, and the best that tiles attain."""
