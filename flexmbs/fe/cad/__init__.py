"""CAD files and gmsh scripts become meshes, in a guarded child process."""
