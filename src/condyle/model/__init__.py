"""Values that every room shares, each defined once and frozen."""
