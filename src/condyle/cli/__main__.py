"""`python -m condyle.cli`, where the script `condyle` is not on the path."""

import sys

from . import main

sys.exit(main())
