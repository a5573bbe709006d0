"""What each kernel is to the cycle model."""
