"""While the person is still suited: what streams in is recorded, and put on one clock."""
