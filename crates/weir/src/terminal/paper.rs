//! What this program prints, kept instead of printed: for tests, on one thread. Not here: what is
//! asked of a person.

use std::cell::RefCell;

use weir_tui::text::clean::clean_print;

thread_local! {
    /// What was printed; `None`: nobody keeps it.
    static PAPER: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Begins lines of standard output, among those of standard error.
pub(super) const OUT: &str = "out> ";

/// What `act` prints, as a terminal shows it; lines of standard output begin with `out> `.
pub(crate) fn printed_by(act: impl FnOnce()) -> String {
    PAPER.set(Some(String::new()));
    act();
    PAPER.take().unwrap_or_default()
}

/// Keeps `text`, where somebody keeps what is printed.
pub(super) fn keep(mark: &str, text: &str) -> bool {
    PAPER.with_borrow_mut(|paper| {
        let Some(paper) = paper else { return false };
        for line in clean_print(text.trim_end()).split('\n') {
            paper.push_str(format!("{mark}{line}").trim_end());
            paper.push('\n');
        }
        true
    })
}
