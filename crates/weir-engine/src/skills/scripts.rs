//! Scripts of skills (M1): the command line that runs one. A script of the workspace runs where it
//! lies, if the workspace is trusted; of any other skill a copy runs, below `.weir/tmp/`, because
//! commands do not see the person's own folders.

use weir_core::ids::SessionId;

use super::find::{FoundSkill, SkillSource};
use super::folder::{SKILL_FILE, SkillFile, SkillFolder};
use super::{ScriptCall, SkillPlaces};
use crate::ports::SkillScript;
use crate::workspace::Workspace;

/// Largest file of a skill that is copied for a script.
const COPIED_FILE_MAX: u64 = 4 << 20;
/// Most bytes of all of them.
const COPIED_MAX: u64 = 32 << 20;
/// Longest command line.
const COMMAND_BYTES_MAX: usize = 100_000;
/// Interpreters by the ending of a script that names none.
const INTERPRETERS: [(&str, &str); 8] = [
    (".sh", "sh"),
    (".bash", "bash"),
    (".py", "python3"),
    (".js", "node"),
    (".mjs", "node"),
    (".rb", "ruby"),
    (".pl", "perl"),
    (".ts", "deno run"),
];

/// What `script_command` of the parent module does.
pub(super) fn script_command(
    places: &SkillPlaces,
    workspace: &Workspace,
    session: &SessionId,
    skill: &FoundSkill,
    call: ScriptCall<'_>,
) -> Result<SkillScript, String> {
    let ScriptCall { script, args } = call;
    if skill.source == SkillSource::Workspace && !places.trusted {
        return Err(format!(
            "scripts of {} run only where the workspace is trusted, and it is not; a person reads \
             them and runs `weir trust`. The skill's text may be followed without them",
            skill.place
        ));
    }
    let (file, bytes) = find_script(workspace, skill, script)?;
    let folder = match &skill.folder {
        SkillFolder::Workspace(folder) => folder.clone(),
        SkillFolder::Yours(_) | SkillFolder::Bundled(_) => copies_folder(session, &skill.name),
    };
    let path = format!("{folder}/{file}");
    let runs_itself = bytes.executable && skill.source == SkillSource::Workspace;
    let mut words = if runs_itself { Vec::new() } else { script_interpreter(&file, &bytes.bytes)? };
    words.push(path);
    words.extend(args.iter().cloned());
    if words.iter().any(|word| word.contains('\0')) {
        return Err("an argument has a NUL byte; no command can take it".into());
    }
    let command = words.iter().map(|word| quote_shell_word(word)).collect::<Vec<_>>().join(" ");
    if command.len() > COMMAND_BYTES_MAX {
        return Err("the arguments are too long; put them into a file and name that".into());
    }
    Ok(SkillScript { command, label: skill.label.clone() })
}

/// What `prepare_script_files` of the parent module does.
pub(super) fn prepare_script_files(
    workspace: &Workspace,
    session: &SessionId,
    skill: &FoundSkill,
) -> Result<(), String> {
    if let SkillFolder::Workspace(_) = &skill.folder {
        return Ok(());
    }
    let to = copies_folder(session, &skill.name);
    let mut left = COPIED_MAX;
    let mut files = skill.folder.files(workspace);
    files.push(SKILL_FILE.to_owned());
    for file in files {
        let read = skill.folder.read(workspace, &file, COPIED_FILE_MAX.min(left))?;
        left = left.saturating_sub(read.bytes.len() as u64);
        let write = workspace.write_own_bytes(&format!("{to}/{file}"), &read.bytes);
        write.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Where copies of a skill's files are kept, for this session.
fn copies_folder(session: &SessionId, name: &str) -> String {
    format!(".weir/tmp/{session}/skills/{name}")
}

/// A script by its name; `scripts/` may be left out.
fn find_script(
    workspace: &Workspace,
    skill: &FoundSkill,
    script: &str,
) -> Result<(String, SkillFile), String> {
    let read = |file: &str| skill.folder.read(workspace, file, COPIED_FILE_MAX);
    let trimmed = script.trim_start_matches("./");
    let why = match read(trimmed) {
        Ok(bytes) => return Ok((trimmed.to_owned(), bytes)),
        Err(why) => why,
    };
    let below = format!("scripts/{trimmed}");
    if let Ok(bytes) = read(&below) {
        return Ok((below, bytes));
    }
    let files = skill.folder.files(workspace);
    let scripts: Vec<&str> =
        files.iter().map(String::as_str).filter(|file| file.starts_with("scripts/")).collect();
    let there = if scripts.is_empty() { "it has none".into() } else { scripts.join(", ") };
    Err(format!("{why}; its scripts: {there}"))
}

/// The words that run a script which does not run by itself: those of its first line, or what its
/// ending says.
pub(crate) fn script_interpreter(file: &str, bytes: &[u8]) -> Result<Vec<String>, String> {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if let Some(line) = first.strip_prefix(b"#!")
        && let Ok(line) = std::str::from_utf8(line)
        && line.len() < 200
    {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        if !words.is_empty() {
            return Ok(words);
        }
    }
    let by_ending = INTERPRETERS.iter().find(|(ending, _)| file.ends_with(ending));
    let (_, program) = by_ending.ok_or_else(|| {
        format!("{file} does not say what runs it: give it a first line like `#!/bin/sh`")
    })?;
    Ok(program.split(' ').map(str::to_owned).collect())
}

/// A word that the shell takes as it is. Only what needs it is quoted, so that rules match what
/// people would write.
fn quote_shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m1_arguments_reach_the_script_as_they_are() {
        for (word, expected) in [
            ("a", "a"),
            ("", "''"),
            ("a b", "'a b'"),
            ("$(id)", "'$(id)'"),
            ("it's; rm -rf ~", "'it'\\''s; rm -rf ~'"),
            ("--x=1,2", "--x=1,2"),
            ("a\nb", "'a\nb'"),
            ("~", "'~'"),
            ("é", "'é'"),
        ] {
            assert_eq!(quote_shell_word(word), expected);
        }
    }

    #[test]
    fn m1_what_runs_a_script_is_said_by_it_or_its_ending() {
        let words = |file: &str, text: &str| script_interpreter(file, text.as_bytes());
        assert_eq!(
            words("a", "#!/usr/bin/env python3\n"),
            Ok(vec!["/usr/bin/env".into(), "python3".into()])
        );
        assert_eq!(words("a.py", "print(1)"), Ok(vec!["python3".into()]));
        assert_eq!(words("a.sh", "#!\n"), Ok(vec!["sh".into()]));
        assert!(words("a", "x").is_err_and(|why| why.contains("#!/bin/sh")));
        assert!(words("a", "\u{7f}ELF").is_err());
    }
}
