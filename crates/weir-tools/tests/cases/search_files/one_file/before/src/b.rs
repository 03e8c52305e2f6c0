fn gamma() { alpha() }
