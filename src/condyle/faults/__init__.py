"""What went wrong in a take, once there is a figure: found, repaired and told in one file each."""
