"""What went wrong in a take. One file per check: data in, findings with sensor, moment and size out."""
