//! Where the real program `weir` lies. Not here: starting it (`installation`).

use std::path::{Path, PathBuf};

/// The program to test: what the variable `WEIR_BINARY` names, else `weir` in the folder of the build
/// that this test belongs to.
///
/// # Panics
/// There is none: a build of a single crate does not build the program.
pub fn weir_program() -> PathBuf {
    if let Some(named) = std::env::var_os("WEIR_BINARY") {
        return std::path::absolute(&named).expect("WEIR_BINARY is a path");
    }
    let test = std::env::current_exe().expect("a test has a path");
    // Tests are built in a folder beside the program, as are examples and benches.
    let build = test.parent().and_then(Path::parent).expect("a test lies two folders deep");
    let program = build.join(format!("weir{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.is_file(),
        "{} is not there: `cargo build -p weir` builds it (a build of the whole workspace does, too), \
         or name another program in WEIR_BINARY",
        program.display()
    );
    program
}
