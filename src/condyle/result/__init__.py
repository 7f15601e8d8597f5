"""A skeleton with its limbs, placements and coverage."""
