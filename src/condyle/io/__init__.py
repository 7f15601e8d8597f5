"""Files in and out: tables, formats, exports, and the folder of a fit."""

# Files in the folder of a fit. They stand here, so that who names one need not import what writes it.
MANIFEST, SKELETON, MOTION, OPTIONS = "manifest.json", "skeleton.json", "motion.npz", "options.toml"
REPORT, FIELD = "report.html", "field.json"
FIT_FILES = (SKELETON, MOTION, MANIFEST, OPTIONS, FIELD)  # what condyle fit wrote, and all else is made from
