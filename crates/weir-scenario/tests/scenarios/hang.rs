//! A play that hangs is named before the runner ends the whole test without a word. It cannot be
//! stopped from outside, so the program of the tests ends with it.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// A play takes a second or two; whatever takes this long comes to no end.
const PLAY_MAX: Duration = Duration::from_secs(300);

/// What `play` gives. When it takes longer than any play may, says `name` and where each thread of
/// this program waits, and ends the program.
#[expect(clippy::print_stderr, reason = "the last words of a program that ends itself")]
pub(crate) fn named_if_it_hangs<T>(name: &str, play: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        let (ended, wait) = channel::<()>();
        scope.spawn(move || {
            if matches!(wait.recv_timeout(PLAY_MAX), Err(RecvTimeoutError::Timeout)) {
                eprintln!("{name} hangs\n{}", threads_and_children());
                std::process::abort();
            }
        });
        let value = play();
        drop(ended);
        value
    })
}

/// The name of each thread with what it waits for, and the commands that run below this program.
fn threads_and_children() -> String {
    let mut lines = Vec::new();
    let read = |path: std::path::PathBuf| {
        std::fs::read_to_string(path).unwrap_or_default().trim().replace('\0', " ")
    };
    for task in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let task = task.path();
        let waits = [read(task.join("wchan")), read(task.join("syscall"))].join(" ");
        lines.push(format!("{}: {waits}", read(task.join("comm"))));
        for child in read(task.join("children")).split_whitespace() {
            lines.push(format!(
                "  child {child}: {}",
                read(format!("/proc/{child}/cmdline").into())
            ));
        }
    }
    lines.join("\n")
}
