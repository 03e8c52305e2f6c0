fn alpha() {}
fn beta() {}

// calls alpha
