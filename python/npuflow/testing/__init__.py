"""What tests the tests: programs broken on purpose, and whether verification notices."""
