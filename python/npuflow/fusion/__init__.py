"""Which groups become one because that is faster: matmuls in a row, windows in a row, parts that masks leave."""
