//! What a command deletes that it should not, and which places outside the workspace nobody deletes
//! from. Not here: what is said about it (`floor_table`, `paths`).

use super::floor::{FloorCommand, place_text};
use crate::governance::rules::{RuleSet, resolve_path};
use crate::governance::shell;

/// What a command deletes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ForbiddenDeletion {
    Outside,
    /// Outside, one path that is written out and that nobody lives on.
    Named,
    Root,
    Unknown,
}

/// What `scene` deletes that it should not.
pub(super) fn find_forbidden_deletions(scene: &FloorCommand<'_>) -> Vec<ForbiddenDeletion> {
    let mut found = Vec::new();
    for ((folder, words), (part, _)) in scene.commands().zip(scene.commands_in_parts()) {
        let name = shell::head_name(&words[0]);
        let arguments = &words[1..];
        let operands: Vec<&shell::ShellWord> = match name {
            "rm" | "rmdir" | "unlink" | "shred" | "trash" | "trash-put" => {
                deleted_words(arguments, end_signs(part, words))
            }
            "mv" => moved_words(arguments),
            "find" if finds_to_delete(arguments) => searched_words(arguments),
            _ => continue,
        };
        let recursive = name == "find"
            || name == "mv"
            || arguments.iter().any(|w| {
                w.text == "--recursive"
                    || (w.text.starts_with('-')
                        && !w.text.starts_with("--")
                        && w.text.contains(['r', 'R']))
            });
        // What a move in the sandbox gives another name lies in the workspace as before (U13).
        let is_kept = name == "mv" && scene.held_inside && !leads_outside(scene, folder, arguments);
        for operand in operands {
            let computed = operand.expands && operand.text.contains(['$', '`']);
            let place = place_text(scene.rules, operand);
            let at = folder.and_then(|folder| resolve_path(scene.rules, folder, &place));
            match at {
                Some(at) if !at.inside => {
                    let is_named =
                        name != "find" && (!computed || begins_at_known_place(&operand.text));
                    found.push(match is_named && !is_vital(scene.rules, &at.path) {
                        true => ForbiddenDeletion::Named,
                        false => ForbiddenDeletion::Outside,
                    });
                }
                Some(at) if is_root(scene.rules, &at.path) && recursive && name != "find" => {
                    found.push(ForbiddenDeletion::Root);
                }
                Some(_) | None if is_kept => {}
                Some(_) if computed && recursive && !begins_at_known_place(&operand.text) => {
                    found.push(ForbiddenDeletion::Unknown);
                }
                None if recursive => found.push(ForbiddenDeletion::Unknown),
                Some(_) | None => {}
            }
        }
    }
    if feeds_deletion_from_outside(scene) {
        found.push(ForbiddenDeletion::Outside);
    }
    found
}

/// Whether a path is the workspace itself, or a folder that was added to it.
fn is_root(rules: &RuleSet, path: &str) -> bool {
    path == "." || rules.context().below_added_folder(path) == Some("")
}

/// What ends a command that `find` runs; any other goes to the end of its part, whatever stands in it.
fn end_signs(part: &shell::CommandPart, words: &[shell::ShellWord]) -> &'static [&'static str] {
    let above = &part.words[..part.words.len() - words.len()];
    match above.iter().any(|word| shell::head_name(word) == "find") {
        true => &[";", "+"],
        false => &[],
    }
}

/// What is taken away: all but options, and behind `--` all.
fn deleted_words<'w>(
    arguments: &'w [shell::ShellWord],
    ends: &[&str],
) -> Vec<&'w shell::ShellWord> {
    let end = arguments.iter().position(|word| ends.contains(&word.text.as_str()));
    let arguments = &arguments[..end.unwrap_or(arguments.len())];
    let end = arguments.iter().position(|word| word.text == "--").unwrap_or(arguments.len());
    let (before, behind) = arguments.split_at(end);
    let before = before.iter().filter(|word| !word.text.starts_with('-'));
    before.chain(behind.iter().skip(1)).filter(|word| word.text != "{}").collect()
}

/// Where `find` looks: what stands behind its own options and before what it looks for.
fn searched_words(mut arguments: &[shell::ShellWord]) -> Vec<&shell::ShellWord> {
    const OPTIONS: [&str; 9] = ["--", "-E", "-H", "-L", "-P", "-X", "-d", "-s", "-x"];
    loop {
        arguments = match arguments {
            [debug, _, rest @ ..] if debug.text == "-D" => rest,
            [word, rest @ ..] if OPTIONS.contains(&word.text.as_str()) => rest,
            [word, rest @ ..] if word.text.starts_with("-O") => rest,
            _ => break,
        };
    }
    arguments.iter().take_while(|word| !word.text.starts_with(['-', '(', '!'])).collect()
}

/// What a move takes away: all but the last word, or all where an option says where to.
fn moved_words(arguments: &[shell::ShellWord]) -> Vec<&shell::ShellWord> {
    let mut operands = Vec::new();
    let mut says_where_to = false;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.text.as_str() {
            "-t" | "--target-directory" => {
                says_where_to = true;
                words.next();
            }
            "--" => operands.extend(words.by_ref()),
            text if text.starts_with("--t") || text.starts_with("-t") => says_where_to = true,
            text if text.starts_with('-') => {}
            _ => operands.push(word),
        }
    }
    if !says_where_to {
        operands.pop();
    }
    operands
}

/// Whether a word of a move names a place outside the workspace: in the sandbox that is a folder which goes
/// with the command.
fn leads_outside(
    scene: &FloorCommand<'_>,
    folder: Option<&str>,
    arguments: &[shell::ShellWord],
) -> bool {
    let place = |text: &str| resolve_path(scene.rules, folder.unwrap_or("."), text);
    let named = |text: &str| place(text).is_some_and(|at| !at.inside);
    // `--target-directory=/tmp/x`, `-t/tmp/x`.
    let after_option = |text: &str| text.find('/').is_some_and(|at| named(&text[at..]));
    arguments.iter().map(|word| word.text.as_str()).any(|text| match text.strip_prefix('-') {
        Some(option) => after_option(option),
        None => named(text),
    })
}

/// `$HOME/x`, `$PWD/x`: computed, yet known.
fn begins_at_known_place(text: &str) -> bool {
    let known = ["$HOME", "${HOME}", "$PWD", "${PWD}", "$(pwd)", "`pwd`"];
    known.iter().any(|k| text.strip_prefix(k).is_some_and(|rest| !rest.contains(['$', '`'])))
}

fn finds_to_delete(arguments: &[shell::ShellWord]) -> bool {
    arguments.iter().any(|w| {
        w.text == "-delete" || matches!(shell::head_name(w), "rm" | "unlink" | "shred" | "rmdir")
    })
}

/// `find / | xargs rm`: the names come from a part that looks outside.
fn feeds_deletion_from_outside(scene: &FloorCommand<'_>) -> bool {
    let is_xargs = |part: &shell::CommandPart| {
        part.words.first().is_some_and(|w| matches!(shell::head_name(w), "xargs" | "parallel"))
    };
    let deletes = scene.read.reach.parts.iter().filter(|p| is_xargs(p)).any(|part| {
        shell::commands_of(part)
            .any(|words| matches!(shell::head_name(&words[0]), "rm" | "unlink" | "shred" | "rmdir"))
    });
    deletes
        && scene.parts().filter(|(_, part)| !is_xargs(part)).any(|(folder, part)| {
            part.words.iter().skip(1).any(|word| {
                let at = folder.and_then(|folder| resolve_path(scene.rules, folder, &word.text));
                at.is_some_and(|at| !at.inside)
            })
        })
}

/// Whether the system, the person's home or the workspace stands on an absolute path, so that it is
/// not deleted in any mode: what is at the top, what belongs to the system, homes, and all above the
/// workspace. Several entries at once (`*`) count as their folder.
pub(super) fn is_vital(rules: &RuleSet, path: &str) -> bool {
    const SYSTEM: [&str; 15] = [
        "bin", "boot", "dev", "efi", "etc", "lib", "lib32", "lib64", "nix", "proc", "run", "sbin",
        "sys", "usr", "System",
    ];
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let is_pattern = |part: &&str| part.contains(['*', '?', '[', '{']);
    let parts = match parts.iter().position(is_pattern) {
        None => parts,
        // The folder whose entries are meant.
        Some(at) => parts[..at].to_vec(),
    };
    let [top, rest @ ..] = parts.as_slice() else { return true };
    let context = rules.context();
    let is_above = |place: &str| {
        let mut above = place.split('/').filter(|part| !part.is_empty());
        parts.iter().all(|part| above.next() == Some(*part))
    };
    let in_system = SYSTEM.contains(top)
        || (*top == "var" && rest.first() != Some(&"tmp"))
        || (*top == "root" && context.home.as_deref() != Some("/root"));
    let is_home = matches!(*top, "home" | "Users") && rest.len() == 1;
    rest.is_empty()
        || in_system
        || is_home
        || is_above(&context.workspace)
        || context.added_folders.iter().any(|folder| is_above(folder))
        || context.home.as_deref().is_some_and(is_above)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::governance::rules::RuleContext;
    use crate::governance::shell::ReadCommand;
    use crate::tool::CommandEffect;

    #[test]
    fn z3_what_is_deleted_is_found_however_it_is_written() {
        let context = RuleContext {
            workspace: "/work/ws".into(),
            home: Some("/home/me".into()),
            ..RuleContext::default()
        };
        let rules = RuleSet::new(context);
        for line in [
            "rm -rf -- -/../../../home/me",
            "rm -rf + ~",
            "rm -rf ~me",
            "rm -rf ~me/",
            "rm -rf ~you",
            "rm -rf ~root/x",
            "cd ~me && rm -rf ../you",
            "rm -rf ';' ~",
            "find -L ~ -delete",
            "find -O3 -D x -H / -name x -exec rm {} +",
            "mv -- -/../../../etc x",
            "rm -rf {~,x}",
            "rm -rf x{,/../../../home/me}",
            "{rm,-rf,/home/me}>/dev/null",
            "rm -rf {,x}/etc",
            "cat <<E\nE\\\n\nrm -rf ~\nE",
            "echo $'\\c'; rm -rf ~; echo ''\\'",
        ] {
            let effect =
                CommandEffect { command: line.into(), cwd: ".".into(), ..CommandEffect::default() };
            let read = ReadCommand::from_text(line);
            let scene = FloorCommand::from_read(&effect, &rules, &read);
            let is_found = find_forbidden_deletions(&scene).contains(&ForbiddenDeletion::Outside);
            assert!(is_found || read.reach.unread.is_some(), "{line:?}");
        }
        let found = |line: &str| {
            let effect =
                CommandEffect { command: line.into(), cwd: ".".into(), ..CommandEffect::default() };
            let read = ReadCommand::from_text(line);
            find_forbidden_deletions(&FloorCommand::from_read(&effect, &rules, &read))
        };
        assert_eq!(found("rm -rf ~+"), [ForbiddenDeletion::Root]);
        assert_eq!(found("rm -rf ~-/x"), [ForbiddenDeletion::Unknown]);
        assert_eq!(found("rm -rf ~you/x"), [ForbiddenDeletion::Named]);
        assert!(found("rm -rf '~me' a~ ~+/x").is_empty());
    }

    #[test]
    fn z3_what_the_system_and_the_person_stand_on_is_never_deleted() {
        let context = RuleContext {
            workspace: "/work/own/ws".into(),
            home: Some("/home/me".into()),
            added_folders: vec!["/srv/more/lib".into()],
            ..RuleContext::default()
        };
        let rules = RuleSet::new(context);
        for path in [
            "/",
            "/tmp",
            "/tmp/*",
            "/etc/hosts",
            "/usr/local/x",
            "/var/lib/x",
            "/home",
            "/home/you",
            "/home/me",
            "/home/me/*",
            "/work",
            "/work/own",
            "/work/own/ws",
            "/root/x",
            "/*/x",
            "/srv/more",
            "/srv/more/lib",
        ] {
            assert!(is_vital(&rules, path), "{path}");
        }
        for path in ["/tmp/x", "/tmp/x/*", "/var/tmp/x", "/home/me/x", "/work/other", "/srv/a/b"] {
            assert!(!is_vital(&rules, path), "{path}");
        }
    }
}
