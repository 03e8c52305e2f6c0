//! Which settings of git name programs: the one list, for whom a command line sets one (the gate) and for what is
//! set already (the engine). Not here: how a line or a file says so.

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

/// Whether a setting of a repository names programs that git runs, or other settings. `key`: as `git config` has
/// it, `core.fsmonitor`; `value`: what it is set to, where that is known.
pub fn git_setting_runs(key: &str, value: Option<&str>) -> bool {
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
            assert!(git_setting_runs(key, Some("x")), "{key}");
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
            assert!(!git_setting_runs(key, Some("x")), "{key}");
        }
        for (value, expected) in
            [(None, true), (Some("!sh"), true), (Some("-c a.b=c x"), true), (Some("status"), false)]
        {
            assert_eq!(git_setting_runs("alias.st", value), expected, "{value:?}");
        }
    }
}
