"""The figure in motion: played, solved by inverse kinematics, reaching, retargeted."""
