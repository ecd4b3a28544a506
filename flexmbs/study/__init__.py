"""Many runs of one case: designs, workers, rows, tables (`flexmbs sweep`, `fm.Study`)."""
