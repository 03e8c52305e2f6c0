//! Commands of git that give a repository a setting by which git runs programs, or a template with hooks
//! and settings (A1): whoever uses git there later runs them, outside the sandbox. Not here: settings for
//! this one command (`git -c`), which run in its sandbox, and those of the person (`--global`), which lie
//! outside it.

use super::floor::FloorCommand;
use super::floor_history::{GitCommand, can_hide_options, git_commands};
use crate::governance::shell::ShellWord;

/// What such a write is, for people.
const SETTING: &str = "a setting by which git runs programs";
const TEMPLATE: &str = "a template, whose hooks and settings git takes over";
const COMPUTED: &str = "what could be a template or a setting by which git runs programs";

/// Sections of which a setting names programs, or other settings.
const SECTIONS: [&str; 6] = ["filter", "include", "includeif", "pager", "alias", "hook"];
/// The last parts of such settings, in whatever section.
const VARIABLES: [&str; 25] = [
    "askpass",
    "attributesfile",
    "browser",
    "clean",
    "difffilter",
    "driver",
    "editor",
    "external",
    "fsmonitor",
    "gitproxy",
    "helper",
    "hookspath",
    "pager",
    "path",
    "process",
    "program",
    "receivepack",
    "smtpserver",
    "smudge",
    "templatedir",
    "textconv",
    "tunnel",
    "uploadpack",
    "vcs",
    "allow",
];
/// And what they end in: `sshCommand`, `packObjectsHook`, …
const ENDINGS: [&str; 3] = ["cmd", "command", "hook"];
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

/// Whether a key names programs, or other settings; `value`: what it is set to, where that stands there.
fn is_running(key: &str, value: Option<&str>) -> bool {
    let key = key.trim().to_ascii_lowercase();
    let (Some((section, _)), Some((_, variable))) = (key.split_once('.'), key.rsplit_once('.'))
    else {
        return false;
    };
    match section {
        // Another word for a command of git, unless it runs a program or has options of git.
        "alias" => value.is_none_or(|value| value.trim_start().starts_with(['!', '-'])),
        "submodule" => variable == "update",
        // Which output has colours.
        "color" => false,
        section => {
            SECTIONS.contains(&section)
                || VARIABLES.contains(&variable)
                || ENDINGS.iter().any(|end| variable.ends_with(end))
        }
    }
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
            if computed || (has_value && is_running(&word.text, value)) {
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
        computed || is_running(name, value)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a1_settings_that_name_programs_are_told_from_others() {
        for key in [
            "core.fsmonitor",
            "Core.HooksPath",
            "core.sshCommand",
            "filter.lfs.clean",
            "diff.pdf.textconv",
            "diff.a=b.command",
            "merge.a.b.driver",
            "include.path",
            "includeIf.gitdir:/x.path",
            "credential.https://a.example.helper",
            "gpg.ssh.program",
            "pager.log",
            "submodule.a.update",
            "sequence.editor",
            "mergetool.x.cmd",
            "init.templateDir",
            "uploadpack.packObjectsHook",
            "protocol.ext.allow",
        ] {
            assert!(is_running(key, Some("x")), "{key}");
        }
        for key in [
            "user.name",
            "user.email",
            "core.autocrlf",
            "pull.rebase",
            "init.defaultBranch",
            "remote.origin.url",
            "branch.main.merge",
            "diff.algorithm",
            "merge.conflictStyle",
            "color.pager",
            "gpg.format",
            "commit.gpgsign",
            "protocol.version",
            "submodule.a.path",
            "editor",
        ] {
            assert!(!is_running(key, Some("x")), "{key}");
        }
        for (value, expected) in
            [(None, true), (Some("!sh"), true), (Some("-c a.b=c x"), true), (Some("status"), false)]
        {
            assert_eq!(is_running("alias.st", value), expected, "{value:?}");
        }
    }
}
