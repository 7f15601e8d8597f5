"""The page of a fit from a server on this machine, with the motion streamed in pieces."""
