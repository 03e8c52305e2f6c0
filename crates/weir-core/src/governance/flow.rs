//! The flow table (Z2): what may happen with what stands in the context. Data, printed into
//! `docs/generated/policy.txt`; the gate `labels` only looks it up.
//!
//! Rule of two: untrusted input, private data, an effect on the outside: at most two without a
//! person. With a person no cell is a dead end (U1): whoever is present can let a single call pass,
//! exactly and once. Where nobody can be asked, every question is a refusal.

pub use super::instructs::{HOOKS, INSTRUCTS, instructing_reason, instructs_below};
use super::label::Taint;

/// Where something may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sink {
    /// Reading the workspace.
    ReadWorkspace,
    /// Writing an ordinary file.
    WriteFile,
    /// Writing outside the workspace.
    WriteOutside,
    /// Writing what later runs or instructs.
    WriteInstruction,
    /// The same by a command that says so and is waited for. Beside foreign words the answer does not
    /// decide what stays: what was there is read-only then, and what is new is taken back.
    WriteInstructionByCommand,
    /// A confined command without network.
    RunConfined,
    /// A command that can reach anything outside.
    RunWithNetwork,
    /// A command that leaves the sandbox, once.
    RunOutside,
    /// A command that speaks to a program of this machine by its socket.
    UseSocket,
    /// A command that is given a secret of the person's in a variable (Z7).
    LendSecret,
    /// Fetching an address that a page or a search led to: it carries which one was chosen, and no more
    /// than `trail::LINK_BITS_MAX` bits of a session are told that way.
    FetchLink,
    /// Fetching from a host that a person listed, at an address that carries nothing of its own.
    FetchListed,
    /// The same at an address that stands literally in what was read, and is no such link or beyond that
    /// bound: which one is fetched can spell something out.
    FetchListedLink,
    /// The same at an address that was put together here.
    FetchListedBuilt,
    /// Fetching from any other host.
    FetchOther,
    /// The same at an address that the person wrote.
    FetchAsked,
    /// Asking a foreign server that reads, in nobody's words or the person's.
    ReadServer,
    /// The same in words that stand in what came from outside.
    ReadServerLinked,
    /// The same in words that were put together here.
    ReadServerBuilt,
    /// Sending to an address of the person's own (U5).
    SendOwn,
    /// Sending to somebody whom the person named or listed.
    SendNamed,
    /// Sending to anybody else.
    SendOther,
    /// Changing at a server what is the person's own, and can be undone there (U2).
    ChangeOwn,
    /// Deleting at a server what cannot be brought back there.
    Destroy,
    /// Changing credentials, rights or members at a server.
    ChangeIdentity,
    /// Committing the person to something: money, a booking.
    Commit,
    /// Changing the person's brain: what later sessions find as theirs.
    KeepInBrain,
    /// A tool whose effects nobody knows.
    Unknown,
}

/// What the table says, from the least strict to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlowCell {
    /// Nothing: mode and rules decide.
    Mode,
    /// A person is asked, unless a rule or lease of theirs covers it.
    AskOrLease,
    /// A person is asked about this very call.
    AskExactly,
    /// The same, with the strongest words that there are: what an attacker would want looks like
    /// this (U1).
    AskWarned,
    /// It does not happen.
    Deny,
}

impl FlowCell {
    /// The words in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            FlowCell::Mode => "mode",
            FlowCell::AskOrLease => "ask or lease",
            FlowCell::AskExactly => "ask exactly",
            FlowCell::AskWarned => "ask, warned",
            FlowCell::Deny => "deny",
        }
    }
}

/// One row: a sink, its words, and its cells in the order of [`Taint::ALL`].
#[derive(Debug)]
pub struct FlowRow {
    /// Where something goes.
    pub sink: Sink,
    /// The words in the table.
    pub text: &'static str,
    /// For a context that is clean, private, external, both.
    pub cells: [FlowCell; 4],
}

use FlowCell::{AskExactly, AskOrLease, AskWarned, Deny, Mode};

/// The table.
pub const FLOW: &[FlowRow] = &[
    FlowRow {
        sink: Sink::ReadWorkspace,
        text: "read the workspace",
        cells: [Mode, Mode, Mode, Mode],
    },
    FlowRow {
        sink: Sink::WriteFile,
        text: "write a file (marked from external on, shown at the end with both)",
        cells: [Mode, Mode, Mode, Mode],
    },
    FlowRow {
        sink: Sink::WriteOutside,
        text: "write outside the workspace",
        cells: [Mode, Mode, AskExactly, AskExactly],
    },
    FlowRow {
        sink: Sink::WriteInstruction,
        text: "write what later runs or instructs",
        cells: [AskOrLease, AskOrLease, AskWarned, AskWarned],
    },
    FlowRow {
        sink: Sink::WriteInstructionByCommand,
        text: "write what later runs or instructs by a command (external: taken back)",
        cells: [AskOrLease, AskOrLease, AskOrLease, AskOrLease],
    },
    FlowRow {
        sink: Sink::RunConfined,
        text: "run a confined command without network",
        cells: [Mode, Mode, Mode, Mode],
    },
    FlowRow {
        sink: Sink::RunWithNetwork,
        text: "run a command with network",
        cells: [AskOrLease, AskOrLease, AskOrLease, AskExactly],
    },
    FlowRow {
        sink: Sink::UseSocket,
        text: "let a command speak to a program of this machine by its socket",
        cells: [AskExactly, AskExactly, AskExactly, AskWarned],
    },
    FlowRow {
        sink: Sink::RunOutside,
        text: "run one command outside the sandbox",
        cells: [AskExactly, AskExactly, AskExactly, AskWarned],
    },
    FlowRow {
        sink: Sink::LendSecret,
        text: "give a command a secret",
        cells: [AskExactly, AskExactly, AskExactly, AskWarned],
    },
    FlowRow {
        sink: Sink::FetchLink,
        text: "follow a link that a page or search brought (bits of a session are bounded)",
        cells: [Mode, Mode, Mode, Mode],
    },
    FlowRow {
        sink: Sink::FetchListed,
        text: "fetch from a listed host",
        cells: [Mode, Mode, Mode, Mode],
    },
    FlowRow {
        sink: Sink::FetchListedLink,
        text: "fetch from a listed host, a link that stands in a result",
        cells: [Mode, Mode, Mode, AskExactly],
    },
    FlowRow {
        sink: Sink::FetchListedBuilt,
        text: "fetch from a listed host, address put together here",
        cells: [Mode, Mode, Mode, AskWarned],
    },
    FlowRow {
        sink: Sink::FetchAsked,
        text: "fetch from another host, address written by the person",
        cells: [Mode, AskOrLease, AskOrLease, AskExactly],
    },
    FlowRow {
        sink: Sink::FetchOther,
        text: "fetch from another host",
        cells: [Mode, AskOrLease, AskOrLease, AskWarned],
    },
    FlowRow {
        sink: Sink::ReadServer,
        text: "read from a foreign server, in words of the person or none",
        cells: [Mode, Mode, Mode, Mode],
    },
    FlowRow {
        sink: Sink::ReadServerLinked,
        text: "read from a foreign server, in words that stand in a result",
        cells: [Mode, Mode, Mode, AskExactly],
    },
    FlowRow {
        sink: Sink::ReadServerBuilt,
        text: "read from a foreign server, in words put together here",
        cells: [Mode, Mode, Mode, AskWarned],
    },
    FlowRow {
        sink: Sink::SendOwn,
        text: "send to the person's own address",
        cells: [Mode, Mode, Mode, Mode],
    },
    FlowRow {
        sink: Sink::SendNamed,
        text: "send to somebody the person named or listed",
        cells: [AskOrLease, AskOrLease, AskExactly, AskExactly],
    },
    FlowRow {
        sink: Sink::SendOther,
        text: "send to anybody else",
        cells: [AskExactly, AskWarned, AskWarned, AskWarned],
    },
    FlowRow {
        sink: Sink::ChangeOwn,
        text: "change what is the person's own at a server",
        cells: [Mode, Mode, Mode, Mode],
    },
    FlowRow {
        sink: Sink::Destroy,
        text: "delete at a server for good",
        cells: [AskOrLease, AskOrLease, AskExactly, AskWarned],
    },
    FlowRow {
        sink: Sink::ChangeIdentity,
        text: "change credentials, rights or members at a server",
        cells: [AskExactly, AskExactly, AskWarned, AskWarned],
    },
    FlowRow {
        sink: Sink::Commit,
        text: "commit the person: money, a booking",
        cells: [AskExactly, AskExactly, AskWarned, AskWarned],
    },
    FlowRow {
        sink: Sink::KeepInBrain,
        text: "keep, change or forget something in the brain",
        cells: [AskOrLease, AskOrLease, AskExactly, AskExactly],
    },
    FlowRow {
        sink: Sink::Unknown,
        text: "use a tool whose effects nobody knows",
        cells: [AskOrLease, AskExactly, AskExactly, AskWarned],
    },
];

/// What the table says about `sink` with such a context.
pub fn flow_cell(sink: Sink, taint: Taint) -> FlowCell {
    let column = Taint::ALL.iter().position(|column| *column == taint);
    let row = FLOW.iter().find(|row| row.sink == sink);
    // A sink without a row cannot be: a test holds it. If it were, it would be closed.
    row.zip(column).map_or(Deny, |(row, column)| row.cells[column])
}

/// What stands in a rule before the row, and between row and column.
const RULE_OF: &str = "flow table: ";
const AND_COLUMN: &str = " × ";

/// The rule that a cell is, as opinions name it: `flow table: read the workspace × clean`.
pub(crate) fn rule_of_cell(sink: Sink, taint: Taint) -> String {
    format!("{RULE_OF}{}{AND_COLUMN}{}", sink_text(sink), taint.as_str())
}

/// The row and the cell that this rule names. What is no rule of the table names none.
pub(crate) fn cell_of_rule(rule: &str) -> Option<(Sink, FlowCell)> {
    let (text, column) = rule.strip_prefix(RULE_OF)?.rsplit_once(AND_COLUMN)?;
    let row = FLOW.iter().find(|row| row.text == text)?;
    let taint = Taint::ALL.into_iter().find(|taint| taint.as_str() == column)?;
    Some((row.sink, flow_cell(row.sink, taint)))
}

/// The words of a sink.
pub fn sink_text(sink: Sink) -> &'static str {
    FLOW.iter().find(|row| row.sink == sink).map_or("an effect without a row", |row| row.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z2_adding_taint_never_widens_a_verdict() {
        for row in FLOW {
            let [clean, private, external, both] = row.cells;
            assert!(clean <= private && clean <= external, "{}", row.text);
            assert!(private <= both && external <= both, "{}", row.text);
        }
    }

    #[test]
    fn z2_every_sink_has_one_row() {
        use Sink::*;
        let all = [
            ReadWorkspace,
            WriteFile,
            WriteOutside,
            WriteInstruction,
            WriteInstructionByCommand,
            RunConfined,
            RunWithNetwork,
            RunOutside,
            UseSocket,
            LendSecret,
            FetchLink,
            FetchListed,
            FetchListedLink,
            FetchListedBuilt,
            FetchAsked,
            FetchOther,
            ReadServer,
            ReadServerLinked,
            ReadServerBuilt,
            SendOwn,
            SendNamed,
            SendOther,
            ChangeOwn,
            Destroy,
            ChangeIdentity,
            Commit,
            KeepInBrain,
            Unknown,
        ];
        for sink in all {
            assert_eq!(FLOW.iter().filter(|row| row.sink == sink).count(), 1, "{sink:?}");
        }
        assert_eq!(FLOW.len(), all.len());
    }

    #[test]
    fn u1_no_cell_is_a_dead_end() {
        for row in FLOW {
            assert!(row.cells.iter().all(|cell| *cell < Deny), "{}", row.text);
        }
    }

    #[test]
    fn z2_rule_of_two_foreign_words_and_private_data_never_leave_without_a_person() {
        use Sink::*;
        for sink in [
            RunWithNetwork,
            RunOutside,
            UseSocket,
            LendSecret,
            FetchListedLink,
            FetchListedBuilt,
            FetchAsked,
            FetchOther,
            ReadServerLinked,
            ReadServerBuilt,
            SendNamed,
            SendOther,
            Destroy,
            ChangeIdentity,
            Commit,
            Unknown,
        ] {
            assert!(flow_cell(sink, Taint::Both) >= AskExactly, "{sink:?}");
        }
    }
}
