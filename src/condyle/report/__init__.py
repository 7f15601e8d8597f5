"""The page of a calibration: one HTML file that shows it, with no network and no server."""
