"""What an op is, whatever it is spelled like: its loops, what it reads and sums, what runs with it as one."""
