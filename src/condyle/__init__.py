"""condyle: the articulated figure inside a recording of positions and orientations."""

from ._version import __version__ as __version__
