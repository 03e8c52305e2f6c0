//! Whether the configuration of a repository names programs that git runs. Not here: which settings do (the core
//! has the list), and what follows from it.

use weir_core::governance::shell::git_setting_runs;

/// Whether a setting in the text of a configuration names a program. What git would not read either, or what is
/// too odd to be read here, may name any.
pub(super) fn names_program(text: &str) -> bool {
    let mut section = String::new();
    for line in text.lines() {
        let mut rest = line.trim_start_matches('\u{feff}').trim();
        // Several may stand in a line, and a setting behind them.
        while let Some(header) = rest.strip_prefix('[') {
            let Some((name, behind)) = parse_header(header) else { return true };
            section = name;
            rest = behind.trim_start();
        }
        if rest.is_empty() || rest.starts_with(['#', ';']) {
            continue;
        }
        let (name, value) = match rest.split_once('=') {
            Some((name, value)) => (name, Some(value.trim().trim_start_matches('"'))),
            None => (rest, None),
        };
        let name = name.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next();
        let key = format!("{section}.{}", name.unwrap_or_default());
        // One that goes on in the next line says only there what it is.
        if git_setting_runs(&key, value) || value.is_some_and(|value| value.ends_with('\\')) {
            return true;
        }
    }
    false
}

/// The section that a line begins with, behind its bracket, as `filter.lfs`, and what stands behind it; `None`:
/// it has no end.
fn parse_header(text: &str) -> Option<(String, &str)> {
    let (mut name, mut is_quoted, mut is_escaped) = (String::new(), false, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if std::mem::take(&mut is_escaped) => name.push(letter),
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ']' if !is_quoted => return Some((name, &text[at + 1..])),
            letter if letter.is_whitespace() && !is_quoted => {
                if !name.ends_with('.') {
                    name.push('.');
                }
            }
            letter => name.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a13_a_configuration_that_makes_git_run_programs_is_told_from_others() {
        for text in [
            "[core]\n\tfsmonitor = ./x\n",
            "[core] hooksPath = x",
            "[Core]\n\tSSHCommand=x",
            "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n",
            "[filter.lfs]\nsmudge = x",
            "[filter \"a]b\"] process = x",
            "[filter \"a\\\"]\"] clean = x",
            "[core][diff \"pdf\"] textconv = x",
            "[diff \"x\"]\n\tcommand = x",
            "[diff]\n\texternal = x",
            "[merge \"x\"]\n\tdriver = x %A",
            "[gpg \"ssh\"]\n\tprogram = x",
            "[include]\n\tpath = more",
            "[includeIf \"gitdir:/x\"]\n\tpath = more",
            "[alias]\n\tst = !sh x",
            "[alias]\n\tst = \"!sh x\"",
            "[alias]\n\tst = \\\n!sh a=b",
            "[gpg]\n\tprogram ; a remark",
            "[pager]\n\tlog = x",
            "\u{feff}[sequence]\n\teditor = x",
            "[core\n\tfsmonitor = x",
            "[core \"x]\nbare = false",
        ] {
            assert!(names_program(text), "{text}");
        }
        for text in [
            "",
            "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tignorecase = true\n",
            "[remote \"origin\"]\n\turl = https://a.example/pager/x.git\n\tfetch = +refs/heads/*:x\n",
            "[branch \"editor\"]\n\tremote = origin\n\tmerge = refs/heads/command\n",
            "[user]\n\tname = Ann Pager ; [filter\n\temail = a@b.example\n",
            "# [filter \"x\"] clean = x\n; fsmonitor = x\n[core]\n\tbare\n",
            "[merge]\n\tconflictStyle = zdiff3\n[diff]\n\talgorithm = histogram\n",
            "[alias]\n\tst = status\n[color]\n\tpager = true\n",
        ] {
            assert!(!names_program(text), "{text}");
        }
    }
}
