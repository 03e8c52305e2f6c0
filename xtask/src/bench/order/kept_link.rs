//! A link that can be done again: what cargo's linker was given, copied before cargo removes it. Not here: why
//! it is done again (`super`).

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};

/// By this variable the command knows that cargo calls it as the linker.
const LINKING: &str = "WEIR_XTASK_LINKS";
/// The folder in which a link is kept; without it none is.
const KEPT: &str = "WEIR_XTASK_KEEPS";
/// Where cargo looks for the linker of the one target that is ordered.
const LINKER: &str = "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER";
/// Ends of names of what is linked: objects and archives.
const LINKED: [&str; 3] = ["o", "a", "rlib"];
/// The word that takes names away.
const STRIP: &str = "-Wl,--strip-all";

/// Makes cargo link by this program, which keeps names; in `kept` also what it was given.
///
/// # Errors
/// Where this program lies is not known.
pub(super) fn by_this_program(cargo: &mut Command, kept: Option<&Path>) -> anyhow::Result<()> {
    cargo.env(LINKER, std::env::current_exe()?).env(LINKING, "1");
    if let Some(kept) = kept {
        cargo.env(KEPT, kept);
    }
    Ok(())
}

/// Whether cargo calls this program as its linker, with these words.
pub(crate) fn is_linker() -> bool {
    std::env::var_os(LINKING).is_some_and(|value| value == "1")
}

/// Links as `cc` does, but keeps names: cargo knows a profile without them as another one, in which every
/// function is called differently.
///
/// # Errors
/// There is no `cc`, or the link of the program cannot be kept.
pub(crate) fn link() -> anyhow::Result<ExitCode> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(folder) = std::env::var_os(KEPT)
        && is_of_program(&words)
    {
        KeptLink::keep(&words, Path::new(&folder)).context("keeping the link of the program")?;
    }
    let words = words.into_iter().filter(|word| word != STRIP);
    Err(Command::new("cc").args(words).exec()).context("cc cannot be started")
}

/// Whether what is linked is the program and not a build script: `deps/weir-HASH`.
fn is_of_program(words: &[OsString]) -> bool {
    let goal = words.iter().skip_while(|word| *word != "-o").nth(1).map(Path::new);
    let name = goal.and_then(Path::file_name).and_then(|name| name.to_str());
    name.and_then(|name| name.strip_prefix("weir-"))
        .is_some_and(|hash| hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The words of a link, with the files that they name in a folder of their own.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct KeptLink {
    words: Vec<String>,
    folder: PathBuf,
}

impl KeptLink {
    fn keep(words: &[OsString], kept: &Path) -> anyhow::Result<()> {
        let mut own = Vec::new();
        for (number, word) in words.iter().enumerate() {
            let word = word.to_str().context("a word that is no text")?;
            let file = Path::new(word);
            let is_linked =
                file.extension().is_some_and(|end| LINKED.iter().any(|one| end == *one));
            if is_linked && file.is_file() {
                let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                let copy = kept.join(format!("{number}-{name}"));
                fs::copy(file, &copy).with_context(|| word.to_owned())?;
                own.push(copy.display().to_string());
            } else {
                own.push(word.to_owned());
            }
        }
        let link = KeptLink { words: own, folder: std::env::current_dir()? };
        fs::write(kept.join("link.json"), serde_json::to_vec(&link)?)?;
        Ok(())
    }

    /// # Errors
    /// None was kept there.
    pub(super) fn read(kept: &Path) -> anyhow::Result<KeptLink> {
        let text = fs::read(kept.join("link.json"))
            .context("cargo linked nothing anew: remove the built program and try again")?;
        Ok(serde_json::from_slice(&text)?)
    }

    /// Links once more to `goal`, without the words in `without` and with those in `with`.
    ///
    /// # Errors
    /// The linker refuses.
    pub(super) fn again(
        &self,
        goal: &Path,
        without: &[&str],
        with: &[String],
    ) -> anyhow::Result<()> {
        let at = self.words.iter().position(|word| word == "-o").context("a link has a goal")?;
        let mut words = self.words.clone();
        *words.get_mut(at + 1).context("a link has a goal")? = goal.display().to_string();
        words.retain(|word| !without.contains(&word.as_str()));
        let status = Command::new("cc")
            .args(words)
            .args(with)
            .current_dir(&self.folder)
            .status()
            .context("cc cannot be started")?;
        ensure!(status.success(), "linking {} again failed: {status}", goal.display());
        Ok(())
    }

    /// The same with names, and at the address that it was linked for: what stands where is in `map`.
    ///
    /// # Errors
    /// The linker refuses.
    pub(super) fn at_fixed_address(&self, goal: &Path, map: &Path) -> anyhow::Result<()> {
        let with = ["-no-pie".to_owned(), format!("-Wl,-Map={}", map.display())];
        self.again(goal, &[STRIP, "-pie", "-Wl,-z,pack-relative-relocs"], &with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q5_the_link_of_the_program_is_known_among_those_of_build_scripts() {
        let is = |goal: &str| is_of_program(&["-pie", "-o", goal].map(OsString::from));
        assert!(is("/t/dist/deps/weir-f21498b1dcaa81ad"));
        for other in
            ["/t/dist/build/weir-0a/build_script_build-0a", "/t/deps/weir_core-0a", "/t/weir-x"]
        {
            assert!(!is(other), "{other}");
        }
        assert!(!is_of_program(&[OsString::from("-o")]));
    }
}
