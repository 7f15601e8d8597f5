"""The library is the program: what `condyle` does on the command line is one call here.

fit = condyle.fit("walk.npz")
fit.save("out")
condyle.load("out").export("bvh,glb")
"""

from .calls import Remounted as Remounted
from .calls import fit as fit
from .calls import fit_remounted as fit_remounted
from .calls import fit_with as fit_with
from .calls import open_figures as open_figures
from .calls import solve as solve
from .fitted import Fit as Fit
from .fitted import load as load
