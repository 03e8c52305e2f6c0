//! How the person before the program is told what needs no decision: a setting that is ignored, a
//! server that is not used. Not here: the terminal itself, which belongs to the program.

/// How the program tells the person something while the installation is read.
#[derive(Debug, Clone, Copy)]
pub struct Notifier {
    /// Takes one sentence without a line break at its end.
    pub notify: fn(&str),
    /// Whether somebody reads it now and can answer.
    pub is_attended: fn() -> bool,
}

impl Notifier {
    /// Tells nobody anything.
    pub const SILENT: Notifier = Notifier { notify: |_| (), is_attended: || false };
}
