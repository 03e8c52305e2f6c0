//! Takes command lines apart, for rules and the hard floor (C3, Z3).
//!
//! It is not a shell: it expands nothing and runs nothing. It fails closed. What it cannot read
//! for certain is marked, and what is marked is never matched by an allow rule with a prefix; what
//! might run is listed as broadly as possible by `reach`, for deny rules and the floor.

mod braces;
mod git_options;
mod git_settings;
mod lexer;
mod reach;
mod readers;
mod runner_table;
mod runners;

pub use braces::expand_braces;
pub use git_options::{GitOptionTarget, git_option_target};
pub use git_settings::git_setting_runs;
pub(in crate::governance) use reach::runs_its_input;
pub use reach::{CommandReach, command_reach, commands_of, head_name};
pub use readers::{is_reader, is_reading_command, reads_only, unwrap_command};
pub(in crate::governance) use runners::runs_by_option;

/// Longest command line that is taken apart; a longer one is unreadable.
pub const COMMAND_CHARS_MAX: usize = 100_000;
/// Deepest nesting of substitutions and subshells that is followed.
pub const NESTING_MAX: usize = 24;
/// Most simple commands of one line; with more it is unreadable.
pub const PARTS_MAX: usize = 4_000;

/// A command line, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandLine {
    /// Every simple command in it, those in substitutions and subshells included.
    pub parts: Vec<CommandPart>,
    /// Names of functions that it defines.
    pub functions: Vec<String>,
    /// It uses `$( )`, backquotes, `<( )` or `>( )`.
    pub substitution: bool,
    /// It uses reserved words (`if`, `for`, `{`, `!`) or defines functions.
    pub control: bool,
    /// It uses `( )`.
    pub subshell: bool,
    /// One command of it reads what another prints.
    pub pipes: bool,
    /// Something of it goes on in the background.
    pub background: bool,
    /// The shell does more in it than put in what a variable holds, whole or without its beginning or end:
    /// `${…}` beyond `${NAME}`, `${NAME#START}` and `${NAME%END}`, `$((…))`, `$[…]`, `((…))`. Any of them
    /// can run what stands in a text.
    pub computes: bool,
    /// Why it could not be read for certain.
    pub unreadable: Option<&'static str>,
}

/// One simple command: assignments, words and redirections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandPart {
    /// Source text of the command, as it was typed.
    pub raw: String,
    /// Program and arguments, quotes removed.
    pub words: Vec<ShellWord>,
    /// `NAME=value` before the program.
    pub assignments: Vec<ShellWord>,
    /// Redirections of the command, in order.
    pub redirections: Vec<Redirection>,
    /// It stands in a substitution.
    pub nested: bool,
    /// Number by which a here-document finds its part.
    serial: usize,
}

/// A word as the program would get it, if nothing in it is expanded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShellWord {
    /// Its text without quotes; expansions stand in it as they were written.
    pub text: String,
    /// The shell would change it: variable, substitution, pattern, brace or tilde.
    pub expands: bool,
    /// What the shell puts in may become several words: an expansion outside quotes, or a list.
    pub splits: bool,
}

/// One redirection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Redirection {
    /// `>`, `>>`, `<`, `<<`, `<<<`, `>&`, …
    pub operator: String,
    /// File, descriptor or delimiter.
    pub target: ShellWord,
    /// Text of a here-document.
    pub body: Option<String>,
}

impl Redirection {
    /// Whether it names a file (not a descriptor, not text).
    pub fn is_file(&self) -> bool {
        let descriptor = || {
            let text = self.target.text.trim_end_matches('-');
            !self.target.expands && text.bytes().all(|b| b.is_ascii_digit())
        };
        match self.operator.as_str() {
            "<<" | "<<-" | "<<<" => false,
            ">&" | "<&" => !descriptor(),
            _ => true,
        }
    }
    /// Whether it writes a file.
    pub fn writes(&self) -> bool {
        self.is_file() && self.operator.contains('>')
    }
}

impl CommandPart {
    /// Whether every word and target is what it says: no expansion, no assignment.
    pub fn is_plain(&self) -> bool {
        self.assignments.is_empty()
            && !self.words.iter().any(|w| w.expands)
            && !self.redirections.iter().any(|r| r.target.expands || r.body_expands())
    }
    /// The same, but for variables that stand in words as `$?` and those that are set before it.
    pub fn is_settled(&self) -> bool {
        let says = |word: &ShellWord| {
            word.expands
                && word.text.replace("$?", "").contains(['$', '`', '*', '?', '[', '{', '~'])
        };
        !self.words.iter().any(says)
            && !self.assignments.iter().any(|assignment| assignment.expands)
            && !self.redirections.iter().any(|r| r.target.expands || r.body_expands())
    }
    /// Its words, if they are all literal.
    pub fn literal_words(&self) -> Option<Vec<&str>> {
        self.is_plain().then(|| self.words.iter().map(|w| w.text.as_str()).collect())
    }
}

impl Redirection {
    fn body_expands(&self) -> bool {
        // The lexer marks the target of a here-document whose text is expanded.
        self.body.is_some() && self.target.expands
    }
}

impl CommandLine {
    /// Whether it consists of simple commands that say what they are, joined by operators.
    pub fn is_plain(&self) -> bool {
        self.is_readable() && !self.substitution && self.parts.iter().all(CommandPart::is_plain)
    }
    /// Whether its parts are known for certain, though words in them may be expanded.
    pub fn is_readable(&self) -> bool {
        self.unreadable.is_none() && !self.control
    }
}

/// A command line that was taken apart, with all that it might run. What several look at is read once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ReadCommand {
    /// Its parts.
    pub(crate) line: CommandLine,
    /// What it might run.
    pub(crate) reach: CommandReach,
}

impl ReadCommand {
    /// Reads a command line.
    pub(crate) fn from_text(text: &str) -> ReadCommand {
        let line = parse_command_line(text);
        let reach = command_reach(&line);
        ReadCommand { line, reach }
    }
}

/// Takes `text` apart. Total: what it cannot read is marked, never refused.
pub fn parse_command_line(text: &str) -> CommandLine {
    lexer::lex_command_line(text)
}

#[cfg(test)]
mod tests;
