"""Files in and out: tables, formats, exports, and the folder of a fit."""
