"""Where frames come from: files that are longer than the memory, some frames at a time."""
