//! Commands of git that give a repository a setting by which git runs programs, or a template with hooks
//! and settings (A1): whoever uses git there later runs them, outside the sandbox. Not here: settings for
//! this one command (`git -c`), which run in its sandbox, and those of the person (`--global`), which lie
//! outside it.

use super::floor::FloorCommand;
use super::floor_history::{GitCommand, can_hide_options, git_commands};
use crate::governance::shell::{ShellWord, git_setting_runs};

/// What such a write is, for people.
const SETTING: &str = "a setting by which git runs programs";
const TEMPLATE: &str = "a template, whose hooks and settings git takes over";
const COMPUTED: &str = "what could be a template or a setting by which git runs programs";

/// What `git config` does to settings that are there, or only tells.
const HARMLESS: [&str; 8] = [
    "--get",
    "--get-all",
    "--get-regexp",
    "--get-urlmatch",
    "--list",
    "--unset",
    "--unset-all",
    "--remove-section",
];
/// The same as subcommands.
const HARMLESS_WORDS: [&str; 4] = ["get", "list", "unset", "remove-section"];
/// Options of `git config` that take the next word.
const WITH_VALUE: [&str; 6] = ["-f", "--file", "--blob", "--type", "--default", "--comment"];
/// Letters of `git clone` that take a word.
const CLONE_LETTERS: &str = "obujc";

/// The setting or the template that a command line would give to a repository, and what that is.
pub(super) fn find_given_setting(scene: &FloorCommand<'_>) -> Option<(String, &'static str)> {
    git_commands(scene).find_map(|git| match git.name() {
        "config" => find_set_key(&git, scene).map(|key| (key, SETTING)),
        "clone" => find_cloned_key(&git)
            .map(|key| (key, SETTING))
            .or_else(|| find_template(&git, scene).map(|at| (at, TEMPLATE)))
            .or_else(|| find_computed_option(&git).map(|word| (word, COMPUTED))),
        "init" => find_template(&git, scene)
            .map(|at| (at, TEMPLATE))
            .or_else(|| find_computed_option(&git).map(|word| (word, COMPUTED))),
        _ => None,
    })
}

/// The key that `git config` sets, if it names programs.
fn find_set_key(git: &GitCommand<'_>, scene: &FloorCommand<'_>) -> Option<String> {
    let rest = git.rest;
    let end = rest.iter().position(|word| word.text == "--").unwrap_or(rest.len());
    let has = |names: &[&str]| rest[..end].iter().any(|word| names.contains(&word.text.as_str()));
    let subcommand = rest.first().map_or("", |word| word.text.as_str());
    // Unless the line says where a home is.
    let outside = has(&["--global", "--system"]) && !scene.effect.command.contains("HOME=");
    if outside || has(&HARMLESS) || HARMLESS_WORDS.contains(&subcommand) {
        return None;
    }
    // A section that gets the name of another, or an editor, whose words stand nowhere.
    let renames = subcommand == "rename-section" || git.has_long("--rename-section", 5);
    if renames || subcommand == "edit" || has(&["-e"]) || git.has_long("--edit", 3) {
        return Some("the configuration of a repository".to_owned());
    }
    let mut at = usize::from(subcommand == "set");
    let mut is_first = true;
    while let Some(word) = rest.get(at) {
        let next = rest.get(at + 1);
        if WITH_VALUE.contains(&word.text.as_str()) && next.is_some_and(|next| !next.splits) {
            at += 2;
            continue;
        }
        let is_option = word.text.starts_with('-') && !word.splits;
        if !is_option {
            let has_value = git.fed || next.is_some();
            // What is computed could be a key, and where it may be several words a value too.
            let computed = is_first && !git.guessed && (word.splits || (word.expands && has_value));
            let value = next.map(|next| if next.expands { "!" } else { next.text.as_str() });
            if computed || (has_value && git_setting_runs(&word.text, value)) {
                return Some(word.text.clone());
            }
            is_first = false;
        }
        at += 1;
    }
    (git.fed && is_first && !git.guessed).then(|| "what another program names".to_owned())
}

/// The key that a copy is given with, if it names programs or is computed.
fn find_cloned_key(git: &GitCommand<'_>) -> Option<String> {
    let mut keys = git.rest.iter().enumerate().filter_map(|(at, word)| {
        let next = || git.rest.get(at + 1).cloned();
        let cut = |text: &str| ShellWord { text: text.to_owned(), ..word.clone() };
        let text = word.text.as_str();
        if text.starts_with("--") {
            return match text.split_once('=') {
                Some((name, value)) => is_config_option(name).then(|| cut(value)),
                None if is_config_option(text) => next(),
                None => None,
            };
        }
        let group = text.strip_prefix('-')?;
        let begin = group.find(|letter: char| CLONE_LETTERS.contains(letter))?;
        let value = group[begin..].strip_prefix('c')?;
        if value.is_empty() { next() } else { Some(cut(value)) }
    });
    let names_programs = |key: &ShellWord| {
        let plain = key.text.find(['$', '`', '*', '?', '[', '{']).unwrap_or(key.text.len());
        // Of a key that is written out only the value is computed.
        let computed = key.splits || (key.expands && !key.text[..plain].contains('='));
        let (name, value) = match key.text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (key.text.as_str(), None),
        };
        computed || git_setting_runs(name, value)
    };
    keys.find(names_programs).map(|key| key.text)
}

/// Whether it is `--config`, also cut short.
fn is_config_option(name: &str) -> bool {
    name.len() >= 4 && "--config".starts_with(name)
}

/// The template that a new repository is made from, if the line names one.
fn find_template(git: &GitCommand<'_>, scene: &FloorCommand<'_>) -> Option<String> {
    let is_set = |word: &&ShellWord| word.text.to_ascii_lowercase().contains("init.templatedir");
    if let Some(word) = git.before.iter().find(is_set) {
        return Some(word.text.clone());
    }
    if scene.effect.command.contains("GIT_TEMPLATE_DIR") {
        return Some("GIT_TEMPLATE_DIR".to_owned());
    }
    let named = |word: &&ShellWord| {
        let name = word.text.split('=').next().unwrap_or_default();
        // Without a value it says that there is none.
        name.len() >= 3 && "--template".starts_with(name) && word.text != "--template="
    };
    git.rest.iter().find(named).map(|word| word.text.clone())
}

/// A word that the shell computes and that could be such an option.
fn find_computed_option(git: &GitCommand<'_>) -> Option<String> {
    let mut words = git.rest.iter().take_while(|word| word.text != "--");
    let found = words.find(|word| can_hide_options(word));
    found.filter(|_| !git.guessed).map(|word| word.text.clone())
}
