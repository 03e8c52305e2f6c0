//! Descriptors that this process was started with and knows nothing of: whoever started the engine
//! left them open, and an open folder leads out of every sandbox. Not here: our own, which close by
//! themselves when a program is started.

use std::ffi::OsString;
use std::path::Path;

const OWN: &str = "/proc/self/fd";
/// What is known of each, by the same numbers.
const ABOUT_OWN: &str = "/proc/self/fdinfo";

/// Closes them, and says which of them stay open all the same. Call it before anything is opened.
///
/// Here, and not by a shell before that of the command: it would be started for nothing else, which takes
/// longer than most of what a supervisor does (Q13).
pub(super) fn close_inherited_descriptors() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(OWN) else { return Vec::new() };
    let numbers: Vec<u32> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    // The listing itself was one of them.
    let is_open = |number: &u32| Path::new(OWN).join(number.to_string()).symlink_metadata().is_ok();
    let inherited = numbers.into_iter().filter(|number| *number > 2 && is_open(number));
    inherited.filter(|number| !(is_left_open(*number) && close_descriptor(*number))).collect()
}

/// Whether it stays open when a program is started, as all have that this one was started with. Another is
/// somebody's in this process.
fn is_left_open(number: u32) -> bool {
    let about = std::fs::read_to_string(Path::new(ABOUT_OWN).join(number.to_string()));
    let about = about.unwrap_or_default();
    let flags = about.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & rustix::fs::OFlags::CLOEXEC.bits() == 0)
}

fn close_descriptor(number: u32) -> bool {
    i32::try_from(number).is_ok_and(|number| nix::unistd::close(number).is_ok())
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
    fn q13_only_what_others_left_open_is_closed() {
        use std::os::fd::{AsRawFd, IntoRawFd};
        let file = || std::fs::File::open("/dev/null").expect("always there");
        let own = file();
        assert!(!is_left_open(own.as_raw_fd().unsigned_abs()), "it closes by itself");
        let left = file();
        rustix::io::fcntl_setfd(&left, rustix::io::FdFlags::empty()).expect("an open file");
        let number = left.into_raw_fd().unsigned_abs();
        assert!(is_left_open(number) && close_descriptor(number));
        assert!(!is_left_open(u32::MAX) && !close_descriptor(u32::MAX));
    }

    #[test]
    fn z4_what_is_open_is_closed_before_the_command() {
        assert_eq!(shell_words("/bin/sh", "id", &[]), ["/bin/sh", "-c", "id"]);
        let words = shell_words("/bin/bash", "id", &[10, 251]);
        assert_eq!(words[2], "exec 10>&- 251>&-; exec \"$0\" -c \"$1\"");
        assert_eq!(words[3..], ["/bin/bash", "id"]);
    }
}
