"""Reading inputs, cases and recipes alike: places in files, numbers with units, what is wrong and where."""
