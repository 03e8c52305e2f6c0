//! The child alone: what the program is when it is started as one. For tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    weir_script::script_main()
}
