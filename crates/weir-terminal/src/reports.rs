//! What each report is made of, at both back ends. A new report is a row in the table of `weir-tui`
//! (`reports`) and its line here; only one of a kind that is not here yet needs more. Pure. Not here:
//! making them (`local::reports`, `remote::reports`).

use weir_tui::link::ReportKind;

/// From what the sessions of this process make a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LocalReport {
    /// What the program prints for these words.
    Command(&'static [&'static str]),
    /// `weir context` of the session that is shown, or of a new one with the same settings.
    Context,
    /// `weir checkpoints list` of the session that is shown.
    Checkpoints,
    /// `weir memory`: all of it, or what fits the words.
    Memory,
    /// `weir brain`: all of it, or what fits the words.
    Brain,
    /// What session and day cost.
    Cost,
    /// Mode, rules, and what is allowed in the session alone.
    Permissions,
    /// One call.
    Call,
    /// What the session changed in files.
    Difference,
    /// A file of the workspace.
    File,
}

/// From what a server makes a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RemoteReport {
    /// Everything on a shelf of the library.
    Library {
        /// Its name in addresses.
        shelf: &'static str,
        /// What is said where it is empty.
        none: &'static str,
    },
    /// How full the window is, and the prompt part by part.
    Context,
    /// What was changed when.
    Checkpoints,
    /// The memory: all of it, or what fits the words.
    Memory,
    /// The brain: all of it, or what fits the words.
    Brain,
    /// Agents that are started by schedule.
    Agents,
    /// What the session, the day and the month cost.
    Cost,
    /// Mode, rules, and what is allowed in the session alone.
    Permissions,
    /// Folders whose own files are trusted.
    Trust,
    /// What waits for the person, in any session.
    Approvals,
    /// One call.
    Call,
    /// The server as its user may see it.
    Doctor,
    /// Settings with their origin.
    Settings,
    /// A file of the person's folder.
    File,
    /// None: what is said instead.
    Elsewhere(&'static str),
}

/// What a report is made of, here and at a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReportSource {
    /// In this process.
    pub(crate) local: LocalReport,
    /// At a server.
    pub(crate) remote: RemoteReport,
}

const fn library_report(shelf: &'static str, none: &'static str) -> RemoteReport {
    RemoteReport::Library { shelf, none }
}

/// What `report` is made of.
pub(crate) fn report_source(report: ReportKind) -> ReportSource {
    let (local, remote) = match report {
        ReportKind::Context => (LocalReport::Context, RemoteReport::Context),
        ReportKind::Cost => (LocalReport::Cost, RemoteReport::Cost),
        ReportKind::Permissions => (LocalReport::Permissions, RemoteReport::Permissions),
        ReportKind::Checkpoints => (LocalReport::Checkpoints, RemoteReport::Checkpoints),
        ReportKind::Memory => (LocalReport::Memory, RemoteReport::Memory),
        ReportKind::Brain => (LocalReport::Brain, RemoteReport::Brain),
        ReportKind::Skills => (
            LocalReport::Command(&["skills", "list"]),
            library_report("skills", "no skill is there"),
        ),
        ReportKind::Recipes => (
            LocalReport::Command(&["recipes", "list"]),
            library_report("recipes", "no recipe is there"),
        ),
        ReportKind::Agents => (LocalReport::Command(&["agents", "list"]), RemoteReport::Agents),
        ReportKind::Mcp => (
            LocalReport::Command(&["mcp-servers", "list"]),
            library_report("servers", "none is declared"),
        ),
        ReportKind::Plugins => (
            LocalReport::Command(&["plugins", "list"]),
            library_report("plugins", "no plugin is there"),
        ),
        ReportKind::Approvals => {
            (LocalReport::Command(&["approvals", "list"]), RemoteReport::Approvals)
        }
        ReportKind::Phone => (
            LocalReport::Command(&["phone", "--show"]),
            RemoteReport::Elsewhere(
                "A telephone is paired at the machine of the server: `weir phone` there.",
            ),
        ),
        ReportKind::Trust => (LocalReport::Command(&["trust", "--list"]), RemoteReport::Trust),
        ReportKind::Doctor => (LocalReport::Command(&["doctor"]), RemoteReport::Doctor),
        ReportKind::Tools => {
            (LocalReport::Command(&["tools", "list"]), library_report("tools", "there is no tool"))
        }
        ReportKind::Call => (LocalReport::Call, RemoteReport::Call),
        ReportKind::File => (LocalReport::File, RemoteReport::File),
        ReportKind::Config => (LocalReport::Command(&["config", "show"]), RemoteReport::Settings),
        ReportKind::Diff => (
            LocalReport::Difference,
            RemoteReport::Elsewhere(
                "What a session of a server changed is shown by /rewind, before it goes back, and on \
                 its page in the browser.",
            ),
        ),
    };
    ReportSource { local, remote }
}
