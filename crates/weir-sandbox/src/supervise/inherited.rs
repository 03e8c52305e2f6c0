//! Descriptors that this process was started with and knows nothing of: whoever started the engine
//! left them open, and an open folder leads out of every sandbox. Not here: our own, which close by
//! themselves when a program is started.

use std::ffi::OsString;
use std::path::Path;

const OWN: &str = "/proc/self/fd";

/// Their numbers. Call it before anything is opened.
pub(super) fn inherited_descriptors() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(OWN) else { return Vec::new() };
    let numbers: Vec<u32> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    // The listing itself was one of them.
    let is_open = |number: &u32| Path::new(OWN).join(number.to_string()).symlink_metadata().is_ok();
    numbers.into_iter().filter(|number| *number > 2 && is_open(number)).collect()
}

/// Program and arguments that run `command`, with none of `open` left open.
pub(super) fn shell_words(shell: &str, command: &str, open: &[u32]) -> Vec<OsString> {
    if open.is_empty() {
        return vec![shell.into(), "-c".into(), command.into()];
    }
    let closing: String = open.iter().map(|number| format!(" {number}>&-")).collect();
    let script = format!("exec{closing}; exec \"$0\" -c \"$1\"");
    vec![shell.into(), "-c".into(), script.into(), shell.into(), command.into()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z4_what_is_open_is_closed_before_the_command() {
        assert_eq!(shell_words("/bin/sh", "id", &[]), ["/bin/sh", "-c", "id"]);
        let words = shell_words("/bin/bash", "id", &[10, 251]);
        assert_eq!(words[2], "exec 10>&- 251>&-; exec \"$0\" -c \"$1\"");
        assert_eq!(words[3..], ["/bin/bash", "id"]);
    }
}
