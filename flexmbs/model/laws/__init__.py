"""What acts on a system as rows of tables: numbers, channels, places, and the kernels for them (F14-F16)."""
