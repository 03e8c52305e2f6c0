//! The figures that are kept (`xtask/instructions.toml`), and what a count is beside them.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};

use super::paths::CountedPath;

/// Where they are kept.
pub(super) const FILE: &str = "xtask/instructions.toml";
/// So much more is refused, so much less is to be kept. Counts of the same program differ by a per cent:
/// what a thread does while it waits is not always the same.
pub(super) const TOLERANCE_PERCENT: u128 = 5;
/// The profile whose figures are kept.
const PROFILE: &str = "dev";

/// What a count is beside the figure that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Holds,
    More,
    Less,
}

/// The figures, in the text of their file: comments stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    text: String,
    is_changed: bool,
}

impl Kept {
    /// # Errors
    /// The file is not there, is no TOML, or is of another profile.
    pub(super) fn read(root: &Path) -> anyhow::Result<Kept> {
        let text = fs::read_to_string(root.join(FILE)).context(FILE)?;
        Kept::of(text).context(FILE)
    }

    fn of(text: String) -> anyhow::Result<Kept> {
        let table: toml::Table = toml::from_str(&text)?;
        let profile = table.get("profile").and_then(toml::Value::as_str);
        ensure!(
            profile == Some(PROFILE),
            "its profile is {profile:?}; {PROFILE} is what is counted"
        );
        let is_known = |key: &str| CountedPath::ALL.iter().any(|path| path.name() == key);
        let stray = table.keys().find(|key| *key != "profile" && !is_known(key));
        ensure!(stray.is_none(), "{stray:?} is no path that is counted");
        Ok(Kept { text, is_changed: false })
    }

    /// What is kept of a path.
    ///
    /// # Errors
    /// Nothing is.
    pub(super) fn figure(&self, path: CountedPath) -> anyhow::Result<u64> {
        let line = self.text.lines().find_map(|line| value_of(line, path.name()));
        let figure = line.and_then(|value| value.replace('_', "").parse().ok());
        figure.with_context(|| format!("{FILE} has no line `{} = NUMBER`", path.name()))
    }

    /// Takes a figure down to what was counted, if that is less by more than counts differ.
    pub(super) fn lower(&mut self, path: CountedPath, counted: u64) {
        let is_less = self.figure(path).is_ok_and(|kept| judge(counted, kept) == Verdict::Less);
        if !is_less {
            return;
        }
        let line = |line: &str| match value_of(line, path.name()) {
            Some(_) => format!("{} = {}\n", path.name(), grouped(counted, '_')),
            None => format!("{line}\n"),
        };
        self.text = self.text.lines().map(line).collect();
        self.is_changed = true;
    }

    /// Writes what was lowered; whether anything was.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write(&self, root: &Path) -> anyhow::Result<bool> {
        if self.is_changed {
            fs::write(root.join(FILE), &self.text).context(FILE)?;
        }
        Ok(self.is_changed)
    }
}

/// The value of a line `key = value`, if it is that key's.
fn value_of<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let value = line.strip_prefix(key)?.trim_start().strip_prefix('=')?;
    Some(value.split('#').next().unwrap_or_default().trim())
}

/// How much more or less, in per cent.
fn percent(counted: u64, kept: u64) -> f64 {
    (counted as f64 / kept.max(1) as f64 - 1.0) * 100.0
}

pub(super) fn judge(counted: u64, kept: u64) -> Verdict {
    let [counted, kept] = [counted, kept].map(u128::from);
    match counted * 100 {
        more if more > kept * (100 + TOLERANCE_PERCENT) => Verdict::More,
        less if less < kept * (100 - TOLERANCE_PERCENT) => Verdict::Less,
        _ => Verdict::Holds,
    }
}

/// One line of the table.
pub(super) fn describe(name: &str, counted: u64, kept: u64) -> String {
    let verdict = match judge(counted, kept) {
        Verdict::Holds => "",
        Verdict::More => "  TOO MANY",
        Verdict::Less => "  less",
    };
    format!(
        "{name:<8} {:>15} instructions, kept {:>15}: {:+.1} %{verdict}",
        grouped(counted, ','),
        grouped(kept, ','),
        percent(counted, kept)
    )
}

fn grouped(number: u64, mark: char) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(mark);
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(start: &str) -> Kept {
        let text = format!("# Why.\nprofile = \"dev\"\nstart = {start} # of one\nturn = 10_000\n");
        Kept::of(text).expect("it can be read")
    }

    #[test]
    fn q23_five_per_cent_more_is_refused_and_less_is_said() {
        assert_eq!(judge(105, 100), Verdict::Holds);
        assert_eq!(judge(106, 100), Verdict::More);
        assert_eq!(judge(95, 100), Verdict::Holds);
        assert_eq!(judge(94, 100), Verdict::Less);
        assert!(
            describe("start", 1_060_000, 1_000_000)
                .ends_with("kept       1,000,000: +6.0 %  TOO MANY")
        );
    }

    #[test]
    fn q23_figures_are_lowered_and_never_raised() {
        let mut figures = kept("1_000_000");
        figures.lower(CountedPath::Start, 990_000);
        figures.lower(CountedPath::Turn, 20_000);
        assert_eq!(figures, kept("1_000_000"), "nothing became less by enough");
        figures.lower(CountedPath::Start, 900_000);
        assert_eq!(figures.figure(CountedPath::Start).expect("a figure"), 900_000);
        assert_eq!(figures.figure(CountedPath::Turn).expect("a figure"), 10_000);
        assert!(figures.text.starts_with("# Why.\nprofile"), "{}", figures.text);
    }

    #[test]
    fn q23_figures_that_say_nothing_are_an_error() {
        assert!(Kept::of("profile = \"release\"\n".into()).is_err(), "another profile");
        assert!(Kept::of("profile = \"dev\"\nstrat = 1\n".into()).is_err(), "a misspelt path");
        assert!(kept("\"many\"").figure(CountedPath::Start).is_err(), "no number");
        assert!(kept("1").figure(CountedPath::Fold).is_err(), "no line");
    }
}
