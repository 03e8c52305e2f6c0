//! Slash commands and workflows (M3): what a person types, and the head of the file that it stands
//! for. Pure. Not here: where such files are found, how arguments are put in
//! (`crate::skill::filled`).

/// Longest name, in characters, the folders in it included.
const NAME_CHARACTERS_MAX: usize = 128;
/// Folders that a name may lead through.
const DEPTH_MAX: usize = 5;
/// Longest description or hint that is shown, in characters.
const HEAD_CHARACTERS_MAX: usize = 300;
/// Lines that a head may have; what is longer is text.
const HEAD_LINES_MAX: usize = 100;

/// A name with what follows it: `/review src`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypedCommand<'a> {
    /// The name, folders in it set off by `:`.
    pub name: &'a str,
    /// The rest, without the space around it.
    pub arguments: &'a str,
}

/// Whether a message begins with what may be a command. A path (`/etc/hosts`) is none.
pub fn parse_typed_command(said: &str) -> Option<TypedCommand<'_>> {
    let rest = said.trim_start().strip_prefix('/')?;
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    is_name(name).then_some(TypedCommand { name, arguments: arguments.trim() })
}

/// Whether a command may be called so: words of letters, digits, `-`, `_` and `.`, set off by `:`.
pub fn is_name(name: &str) -> bool {
    let is_word = |word: &str| {
        word.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
            && word.starts_with(|c: char| c.is_alphanumeric() || c == '_')
    };
    name.chars().count() <= NAME_CHARACTERS_MAX
        && name.split(':').count() <= DEPTH_MAX
        && name.split(':').all(is_word)
}

/// The file that a command of this name stands in, relative to a folder of commands: `a:b` is
/// `a/b.md`.
pub fn file_of(name: &str) -> String {
    format!("{}.md", name.replace(':', "/"))
}

/// The name of the command in this file, as [`file_of`] has it; `None`: the file is none.
pub fn name_of(file: &str) -> Option<String> {
    let name = file.strip_suffix(".md")?.replace('/', ":");
    is_name(&name).then_some(name)
}

/// What the head of a file says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandHead {
    /// A description of the command, for a list.
    pub description: String,
    /// The arguments that the command takes: `[file] [line]`.
    pub argument_hint: String,
    /// Fields that have no effect here.
    pub without_effect: Vec<String>,
}

/// Takes a file apart. Heads of commands are written by hand and are often no YAML
/// (`argument-hint: [a] [b]`), so only lines `name: value` count. A file without a head is all text.
pub fn split_frontmatter(text: &str) -> (CommandHead, &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else {
        return (CommandHead::default(), text.trim());
    };
    let mut head = CommandHead::default();
    let mut at = first.len();
    for line in lines.take(HEAD_LINES_MAX) {
        at += line.len();
        if line.trim_end() == "---" {
            return (head, text[at..].trim());
        }
        let Some((name, value)) = line.split_once(':').filter(|_| !line.starts_with([' ', '\t']))
        else {
            continue;
        };
        match name.trim() {
            "description" => head.description = plain_value(value),
            "argument-hint" => head.argument_hint = plain_value(value),
            "" => (),
            other if other.starts_with(['#', '-']) => (),
            other => head.without_effect.push(plain_value(other)),
        }
    }
    // Two rules are text as well.
    (CommandHead::default(), text.trim())
}

/// A value as it is shown: one line, without the quotes around it, cut.
fn plain_value(value: &str) -> String {
    let value = value.trim();
    let unquoted = ['"', '\''].iter().find_map(|q| value.strip_prefix(*q)?.strip_suffix(*q));
    let words: Vec<&str> = unquoted.unwrap_or(value).split_whitespace().collect();
    words.join(" ").chars().filter(|c| !c.is_control()).take(HEAD_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m3_a_command_is_told_from_a_path() {
        let of = |name, arguments| Some(TypedCommand { name, arguments });
        for (said, expected) in [
            ("/review", of("review", "")),
            ("  /review  src/main.rs  \n", of("review", "src/main.rs")),
            ("/git:commit fix it\nand more", of("git:commit", "fix it\nand more")),
            ("/fix-issue_2.x 12", of("fix-issue_2.x", "12")),
            ("/etc/hosts is empty", None),
            ("/etc/", None),
            ("/", None),
            ("/ review", None),
            ("//review", None),
            ("/..", None),
            ("/a:..:b", None),
            ("/.hidden", None),
            ("/a::b", None),
            ("/a:b:c:d:e:f", None),
            ("/review,", None),
            ("please /review", None),
            ("", None),
        ] {
            assert_eq!(parse_typed_command(said), expected, "{said:?}");
        }
        assert_eq!(parse_typed_command(&format!("/{}", "a".repeat(129))), None);
    }

    #[test]
    fn m3_a_name_and_its_file_are_one() {
        for (name, file) in [("review", "review.md"), ("git:commit", "git/commit.md")] {
            assert_eq!(file_of(name), file);
            assert_eq!(name_of(file).as_deref(), Some(name));
        }
        for file in ["review.txt", ".md", "a/.b.md", "a b.md", "a:b/c.md.bak"] {
            assert_eq!(name_of(file), None, "{file}");
        }
    }

    /// `(text, description, hint, fields without effect, the rest)`
    #[test]
    fn m3_a_head_is_read_without_being_yaml() {
        for (text, description, hint, others, rest) in [
            ("Do it.", "", "", vec![], "Do it."),
            (
                "---\ndescription: Looks at a change\nargument-hint: [pr] [who]\n---\nDo $1.\n",
                "Looks at a change",
                "[pr] [who]",
                vec![],
                "Do $1.",
            ),
            (
                "\u{feff}---\r\ndescription: 'In quotes: yes'\r\nallowed-tools:\r\n  - Bash(git:*)\r\nmodel: x\r\n---\r\nGo",
                "In quotes: yes",
                "",
                vec!["allowed-tools", "model"],
                "Go",
            ),
            ("---\nno end\n", "", "", vec![], "---\nno end"),
            ("---\n---\n", "", "", vec![], ""),
            ("", "", "", vec![], ""),
            ("a\n---\nb: c\n---\n", "", "", vec![], "a\n---\nb: c\n---"),
        ] {
            let (head, body) = split_frontmatter(text);
            assert_eq!(
                (head.description.as_str(), head.argument_hint.as_str(), body),
                (description, hint, rest),
                "{text:?}"
            );
            assert_eq!(head.without_effect, others, "{text:?}");
        }
    }
}
