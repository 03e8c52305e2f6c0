//! Whether this process was started by a command that an agent runs. Not here: what that means.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;

use crate::inside_orders::INSIDE;
use crate::process_tree::{MARKER, ProcessEntry};

/// Ancestors that are looked at: more than any honest tree has.
const ANCESTORS_MAX: usize = 1024;

/// Most that is read of an ancestor's environment or arguments, in bytes.
const READ_BYTES_MAX: u64 = 4 << 20;

/// Whether this process runs below a supervisor of commands. `variables` are its own environment,
/// `hidden_word` is the subcommand under which the program supervises.
///
/// A command can clear its environment, so its ancestors are looked at too: the supervisor adopts
/// whatever loses its parent, and its arguments are not the command's to change. It stays a second
/// line of defence: after its supervisor was killed, a command is found by the variable alone. In a
/// process namespace of its own the first process stands for the supervisor.
pub fn is_below_supervisor(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    hidden_word: &str,
) -> bool {
    variables.into_iter().any(|(name, _)| name == MARKER) || is_descendant(hidden_word)
}

fn is_descendant(hidden_word: &str) -> bool {
    let mut pid = rustix::process::getpid().as_raw_nonzero().get();
    let mut seen = HashSet::new();
    while seen.len() < ANCESTORS_MAX
        && let Some(process) = ProcessEntry::read_pid(pid)
        && process.parent > 0
        && seen.insert(pid)
    {
        pid = process.parent;
        if is_marked(&proc_entries(pid, "environ"))
            || is_supervisor(&proc_entries(pid, "cmdline"), hidden_word)
        {
            return true;
        }
    }
    false
}

/// A list of texts that `/proc` shows of a process, as it stands there; empty when it may not be
/// read.
fn proc_entries(pid: i32, name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = File::open(format!("/proc/{pid}/{name}"))
        .and_then(|file| file.take(READ_BYTES_MAX).read_to_end(&mut bytes));
    if read.is_err() {
        bytes.clear();
    }
    bytes
}

fn is_marked(environment: &[u8]) -> bool {
    let mut entries = environment.split(|byte| *byte == 0);
    entries.any(|entry| entry.strip_prefix(MARKER.as_bytes()).is_some_and(|v| v.starts_with(b"=")))
}

fn is_supervisor(arguments: &[u8], hidden_word: &str) -> bool {
    let second = arguments.split(|byte| *byte == 0).nth(1);
    second == Some(hidden_word.as_bytes()) || second == Some(INSIDE.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g5_the_variable_tells() {
        let marked = [(OsString::from(MARKER), OsString::from("/state/x"))];
        assert!(is_below_supervisor(marked, "no-such-word"));
    }

    #[test]
    fn g5_ancestors_are_told_by_variable_and_by_word() {
        assert!(is_marked(b"A=1\0WEIR_SUPERVISED=/x\0B=2\0"));
        assert!(!is_marked(b"A=WEIR_SUPERVISED=/x\0WEIR_SUPERVISED_TOO=1\0"));
        assert!(is_supervisor(b"/bin/weir\0__supervise\0/state\0", "__supervise"));
        assert!(is_supervisor(b"/run/weir/inside\0__inside\0{}\0", "__supervise"));
        assert!(!is_supervisor(b"/bin/cat\0x\0__supervise\0", "__supervise"));
        assert!(!is_supervisor(b"", "__supervise"));
    }

    #[test]
    fn g5_the_parent_of_this_test_is_seen() {
        let parent =
            ProcessEntry::read_pid(std::process::id().cast_signed()).expect("this one").parent;
        let arguments = proc_entries(parent, "cmdline");
        let second = arguments.split(|byte| *byte == 0).nth(1).unwrap_or_default();
        let word = std::str::from_utf8(second).expect("this test's parent has plain arguments");
        assert!(word.is_empty() || is_below_supervisor([], word), "{word}");
    }
}
