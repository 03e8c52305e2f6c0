//! The reports, in one table: texts that the other end makes for reading, what stands above each, and
//! what is typed for it. A new one is a row here and a line where it is made (`weir-terminal`). Not
//! here: how it is shown ([`crate::screen`], [`crate::plain`]), and commands that do more than show.

use crate::decisions::{ReportPart, parse_report_part};

/// What is typed for a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReportCommand {
    /// The report.
    pub(crate) report: ReportKind,
    /// Without the slash.
    pub(crate) name: &'static str,
    /// What it takes.
    pub(crate) hint: &'static str,
    /// One sentence.
    pub(crate) about: &'static str,
}

macro_rules! reports {
    ($(
        $(#[$comment:meta])*
        $kind:ident = $title:literal $(, $name:literal $hint:literal $about:literal)?;
    )*) => {
        /// A text that the other end makes for reading.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ReportKind {
            $($(#[$comment])* $kind,)*
        }

        impl ReportKind {
            /// What is typed for it, without the slash; empty: another command shows it.
            pub(crate) fn command_name(self) -> &'static str {
                REPORT_COMMANDS.iter().find(|row| row.report == self).map_or("", |row| row.name)
            }

            /// The part of it that was named behind its command; `None`: all of it.
            pub fn named_part(self, arguments: &str) -> Option<ReportPart> {
                parse_report_part(self.command_name(), arguments)
            }

            /// What stands above it.
            pub fn title(self) -> &'static str {
                match self { $(ReportKind::$kind => $title,)* }
            }
        }

        /// What is typed for reports, in the order of the help.
        pub(crate) const REPORT_COMMANDS: &[ReportCommand] = &[
            $($(ReportCommand {
                report: ReportKind::$kind,
                name: $name,
                hint: $hint,
                about: $about,
            },)?)*
        ];
    };
}

// Its comment says what it tells, and what its arguments are. A title; the command's name, what it takes,
// one sentence. One without a command is shown by another (`/permissions`).
reports! {
    /// The prompt by section and the context meter.
    Context = "Context", "context" "" "The prompt by section and how full the context is";
    /// Checkpoints of the session.
    Checkpoints = "Checkpoints", "checkpoints" "" "Saved versions of changed files";
    /// What is remembered. Arguments: words to search.
    Memory = "Memory", "memory" "[words]" "Remembered notes; words search them; also inbox, accept, reject, forget";
    /// The person's brain. Arguments: words to search.
    Brain = "Brain", "brain" "[words]" "Your knowledge store; words search it";
    /// Skills.
    Skills = "Skills", "skills" "" "Skills; also show, inbox, accept, reject, remove";
    /// Recipes.
    Recipes = "Recipes", "recipes" "" "Recipes; also show, accept, reject, remove";
    /// Scheduled agents and sub-agents.
    Agents = "Agents", "agents" "" "Scheduled agents and sub-agents";
    /// Foreign servers.
    Mcp = "MCP servers", "mcp" "" "MCP servers; also show, approve, remove";
    /// Plugins.
    Plugins = "Plugins", "plugins" "" "Plugins; also show, enable, disable";
    /// Tools of the session.
    Tools = "Tools", "tools" "" "Tools; also show, accept, disable, remove";
    /// What waits for a person in every session, and what was granted.
    Approvals = "Approvals", "approvals" "" "What waits in any session; also show, answer";
    /// A code by which a telephone is paired with the server of this installation.
    Phone = "Pair a telephone", "phone" "" "A QR code that pairs your telephone with the server";
    /// Folders that are trusted.
    Trust = "Trusted folders";
    /// One call with everything that is kept of it. Arguments: its number.
    Call = "Call", "call" "number" "Everything about one tool call";
    /// What the session changed in files.
    Diff = "Changes of this session", "diff" "" "What this session changed in files";
    /// A file of the workspace, and the notes that link to it. Arguments: its path.
    File = "File", "file" "path" "Shows a text, document, canvas or image, and what links to it";
    /// What the session and the day cost.
    Cost = "Cost", "cost" "" "What the session and the day cost";
    /// Rules and where each came from, and leases.
    Permissions = "Permissions";
    /// Settings and where each comes from.
    Config = "Settings", "config" "" "Settings and their origin; also set, unset, inbox, accept, reject";
    /// What works here and what does not.
    Doctor = "What works here", "doctor" "" "What works here and what does not";
}
