"""The figure: its tree, the kinds of its joints, where they are, and how sure that is."""
