"""Parts that touch: ends of joints, teeth, outlines of cams (F19). Couplings are made of them."""
