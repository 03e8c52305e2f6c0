//! What a command line plainly writes of what later runs or instructs (Z2): the file tools are asked about
//! the same paths before they write them. Not here: what a program writes that does not say so; that is
//! compared after the command, and under foreign words held by the sandbox.

use super::floor::FloorCommand;
use super::git_settings::find_given_setting;
use crate::governance::flow;
use crate::governance::rules::{RuleSet, resolve_path};
use crate::governance::shell::{self, ReadCommand, ShellWord};
use crate::tool::CommandEffect;

/// Programs that change or take away what their operands name.
const CHANGERS: &[&str] = &[
    "rm", "unlink", "mv", "tee", "touch", "truncate", "shred", "patch", "ed", "ex", "sponge", "dd",
];
/// Programs that change what their last operand names, or make something in it.
const COPIERS: &[&str] = &["cp", "install", "rsync", "ln"];
/// Programs that run a script which stands in an argument.
const INTERPRETERS: &[&str] = &["python", "node", "perl", "ruby", "php", "deno", "bun", "awk"];
/// What stands in a script that writes.
const WRITING: &[&str] =
    &["write", "'w", "\"w", "'a'", "\"a\"", "copy", "rename", "unlink", "append", "remove"];

/// A path that it would write, or a setting that it would give to a repository, and what that is.
pub(super) fn find_written_path(
    command: &CommandEffect,
    read: &ReadCommand,
    rules: &RuleSet,
) -> Option<(String, &'static str)> {
    let scene = FloorCommand::from_read(command, rules, read);
    let inside = |folder: Option<&str>, text: &str| {
        resolve_path(rules, folder?, text).filter(|at| at.inside).map(|at| at.path)
    };
    let file = |folder: Option<&str>, text: &str| {
        let path = inside(folder, text)?;
        flow::instructing_reason(&path).map(|why| (path, why))
    };
    let redirected = scene.parts().find_map(|(folder, part)| {
        let mut targets = part.redirections.iter().filter(|redirection| redirection.writes());
        targets.find_map(|redirection| file(folder, &redirection.target.text))
    });
    let written = redirected.or_else(|| {
        scene.commands().find_map(|(folder, words)| {
            let operands = || words[1..].iter().filter(|word| !word.text.starts_with('-'));
            match shell::head_name(&words[0]) {
                name if COPIERS.contains(&name) => {
                    find_copy_target(words, &|text| inside(folder, text))
                }
                name if CHANGERS.contains(&name) || edits_in_place(name, words) => operands()
                    .find_map(|word| {
                        let value = word.text.strip_prefix("of=").unwrap_or(&word.text);
                        file(folder, value)
                    }),
                "git" => match operands().map(|word| word.text.as_str()).next() {
                    Some("mv" | "rm") => operands().find_map(|word| file(folder, &word.text)),
                    Some(_) | None => None,
                },
                name if INTERPRETERS.iter().any(|known| name.starts_with(known)) => words[1..]
                    .iter()
                    .find_map(|word| find_scripted_write(word, &|text| file(folder, text))),
                _ => None,
            }
        })
    });
    written.or_else(|| find_given_setting(&scene))
}

/// `sed -i`, `perl -pi`.
fn edits_in_place(name: &str, words: &[ShellWord]) -> bool {
    let in_place = |word: &ShellWord| {
        let text = word.text.as_str();
        text.starts_with("--in-place")
            || (text.starts_with('-') && !text.starts_with("--") && text.contains('i'))
    };
    matches!(name, "sed" | "gsed" | "perl" | "ruby") && words[1..].iter().any(in_place)
}

/// Where a copy comes to lie: the last operand, the folder after `-t`, or what is called like a source in it.
fn find_copy_target(
    words: &[ShellWord],
    inside: &dyn Fn(&str) -> Option<String>,
) -> Option<(String, &'static str)> {
    let mut operands: Vec<&str> = Vec::new();
    let mut into = None;
    let mut rest = words[1..].iter().map(|word| word.text.as_str());
    while let Some(text) = rest.next() {
        match text {
            "-t" | "--target-directory" => into = rest.next(),
            text if text.starts_with("--target-directory=") => into = text.split('=').nth(1),
            text if text.starts_with('-') => {}
            text => operands.push(text),
        }
    }
    let into = into.or_else(|| operands.pop())?;
    let to = inside(into)?;
    if let Some(why) = flow::instructing_reason(&to) {
        return Some((to, why));
    }
    // `cp CLAUDE.md notes.md` makes another file of it.
    let last = to.rsplit('/').next().unwrap_or(&to);
    if to != "." && !into.ends_with('/') && last.trim_start_matches('.').contains('.') {
        return None;
    }
    operands.iter().find_map(|source| {
        let name =
            source.trim_end_matches('/').rsplit('/').next().filter(|name| !name.is_empty())?;
        let path = if to == "." { name.to_owned() } else { format!("{to}/{name}") };
        flow::instructing_reason(&path).map(|why| (path, why))
    })
}

/// A path in a script that writes.
fn find_scripted_write(
    word: &ShellWord,
    file: &dyn Fn(&str) -> Option<(String, &'static str)>,
) -> Option<(String, &'static str)> {
    let writes = WRITING.iter().any(|mark| word.text.contains(mark));
    let is_path = |c: char| c.is_alphanumeric() || "-_./*+@".contains(c);
    let mut texts = word.text.split(|c| !is_path(c)).filter(|text| !text.is_empty());
    texts.find_map(file).filter(|_| writes && word.text.contains(['(', ' ']))
}
