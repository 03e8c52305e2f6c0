//! The sums of everything that is handed out, their signature, and the installer that trusts the one who
//! signed. Not here: where the key lives; it is read from a file and never copied.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::Release;
use super::tree::files;
use crate::programs::{bytes_of, text_of};

/// What a signature is for: one made for something else is none. The installer knows it too.
const NAMESPACE: &str = "weir-release";
/// Who signs.
const SIGNER: &str = "weir-release";
const SUMS: &str = "SHA256SUMS";
const INSTALLER: &str = "install.sh";
/// The line of the installer into which the signer is written.
const NO_SIGNER: &str = "signer=''";

/// Writes the installer, the sums and the signature; everything else must be there.
pub(super) fn write(release: &Release, key: &Path) -> anyhow::Result<()> {
    let key = fs::canonicalize(key).with_context(|| format!("the key {}", key.display()))?;
    let signer = signer(release, &key)?;
    let source = fs::read_to_string(release.root.join("deploy").join(INSTALLER));
    let installer = with_signer(&source.context("the installer")?, &signer)?;
    fs::write(release.out.join(INSTALLER), installer).context(INSTALLER)?;

    let sums = of(release, &files(&release.out)?)?;
    let place = release.out.join(SUMS);
    fs::write(&place, sums).context(SUMS)?;
    let mut sign = release.command("ssh-keygen");
    sign.args(["-Y", "sign", "-n", NAMESPACE, "-f"]).arg(&key).arg(&place);
    bytes_of(&mut sign).context("signing the sums")?;
    checked(release, &signer)
}

/// What `sha256sum` says of files of the release.
fn of(release: &Release, names: &[PathBuf]) -> anyhow::Result<String> {
    text_of(release.command("sha256sum").current_dir(&release.out).arg("--").args(names))
}

/// The sum of a file of the release, which must be there, in hexadecimal.
pub(super) fn of_file(release: &Release, name: &str) -> anyhow::Result<String> {
    let line = of(release, &[name.into()])?;
    let sum = line.split_whitespace().next().context("sha256sum prints a sum")?;
    Ok(sum.to_owned())
}

/// The line by which `ssh-keygen` knows who signs: the public half of the key, for this and nothing else.
fn signer(release: &Release, key: &Path) -> anyhow::Result<String> {
    let public = text_of(release.command("ssh-keygen").args(["-y", "-f"]).arg(key))?;
    let mut words = public.split_whitespace();
    let (kind, public) = (words.next(), words.next());
    let (kind, public) = kind.zip(public).context("ssh-keygen prints a public key")?;
    Ok(format!("{SIGNER} namespaces=\"{NAMESPACE}\" {kind} {public}"))
}

fn with_signer(source: &str, signer: &str) -> anyhow::Result<String> {
    let lines = source.lines().filter(|line| *line == NO_SIGNER).count();
    ensure!(lines == 1, "{INSTALLER} must have the line {NO_SIGNER} once, not {lines} times");
    ensure!(!signer.contains('\''), "a public key has no quotes");
    Ok(source.replace(&format!("\n{NO_SIGNER}\n"), &format!("\nsigner='{signer}'\n")))
}

/// Whether what was signed is what the installer will accept.
fn checked(release: &Release, signer: &str) -> anyhow::Result<()> {
    let work = tempfile::tempdir().context("a folder for the check")?;
    let known = work.path().join("signers");
    fs::write(&known, format!("{signer}\n")).context("the signers")?;
    let mut verify = release.command("ssh-keygen");
    verify
        .args(["-Y", "verify", "-n", NAMESPACE, "-I", SIGNER, "-f"])
        .arg(&known)
        .arg("-s")
        .arg(release.out.join(format!("{SUMS}.sig")))
        .stdin(fs::File::open(release.out.join(SUMS)).context(SUMS)?);
    bytes_of(&mut verify).context("checking the signature").map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signer_is_written_into_the_one_line_for_it() {
        let source = "#!/bin/sh\n# signer='' stands below\nsigner=''\nmain\n";
        let made = with_signer(source, "weir-release ssh-ed25519 AAAA").expect("one line");
        assert_eq!(
            made,
            "#!/bin/sh\n# signer='' stands below\nsigner='weir-release ssh-ed25519 AAAA'\nmain\n"
        );
        assert!(with_signer("main\n", "x").is_err(), "no line for it");
        assert!(with_signer("\nsigner=''\n", "it's").is_err(), "a quote would end the word");
    }
}
