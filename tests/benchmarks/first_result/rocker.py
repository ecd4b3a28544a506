"""A bar with three bores as a STEP file: what a CAD program would give."""

import gmsh

gmsh.initialize(interruptible=False)
gmsh.option.setNumber("General.Terminal", 0)
occ = gmsh.model.occ
bar = occ.addBox(-15, -15, 0, 230, 30, 12)
bores = [occ.addCylinder(x, 0, -5, 0, 0, 30, 8) for x in (0, 120, 200)]
occ.cut([(3, bar)], [(3, bore) for bore in bores])
occ.synchronize()
gmsh.write("rocker.step")
