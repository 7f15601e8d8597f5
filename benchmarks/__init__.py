"""Measurements of condyle: how near the truth it comes, how honest it is about that, and how fast.

One thread for everything: BLAS threads cost more than they give on matrices of this size, and they blur CPU times.
This has to be said before numpy is first imported.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
