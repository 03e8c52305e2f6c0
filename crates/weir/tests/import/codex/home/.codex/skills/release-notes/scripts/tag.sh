git describe
