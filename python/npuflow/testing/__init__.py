"""Programs to compile, random ones and samples, and what tests the tests: programs broken on purpose."""
