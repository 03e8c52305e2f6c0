//! The law of promises: what the newest release promised stands in a text of its own, and goes away
//! only with a version that may break it and a line of the changelog that says so. Not here: what a
//! promise is (`lines`).

use std::collections::{BTreeMap, BTreeSet};

use super::{CHANGELOG, RELEASED};
use crate::requirements::Problem;

/// How a line of the changelog begins that tells of a broken promise.
const BREAKING: &str = "BREAKING";
/// Before the version in the text of the newest release.
const VERSION_KEY: &str = "version: ";
/// What stands there before there was one.
const NO_RELEASE: &str = "none";
/// How many broken promises of one crate are named.
const NAMED_MAX: usize = 5;

/// What the law reads.
pub(super) struct ReleaseFacts<'a> {
    /// Promises of the newest release, with its version.
    pub(super) baseline: &'a str,
    pub(super) changelog: &'a str,
    /// The workspace's.
    pub(super) manifest: &'a str,
}

/// The version of the workspace.
pub(super) fn workspace_version(manifest: &str) -> Option<String> {
    let at = manifest.find("[workspace.package]")?;
    let line = manifest[at..].lines().find_map(|line| line.strip_prefix("version = "))?;
    Some(line.trim_matches('"').to_owned())
}

/// These surfaces as what `version` promises.
pub(super) fn baseline_text(version: &str, texts: &BTreeMap<String, String>) -> String {
    let mut text = format!(
        "# What the newest release promises. `cargo xtask api --released` writes it, once for each.\n\
         {VERSION_KEY}{version}\n"
    );
    for line in texts.values().flat_map(|text| promise_lines(text)) {
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// Promises that are broken without being allowed or said to be.
pub(super) fn broken_promises(
    facts: &ReleaseFacts<'_>,
    texts: &BTreeMap<String, String>,
) -> Vec<Problem> {
    let problem = |path: &str, what: String| Problem { path: path.to_owned(), line: 1, what };
    let kept = facts.baseline.lines().find_map(|line| line.strip_prefix(VERSION_KEY));
    let Some(kept) = kept else {
        let what = format!("has no line `{VERSION_KEY}…`: `{NO_RELEASE}` before the first release");
        return vec![problem(RELEASED, what)];
    };
    let newest = newest_release(facts.changelog).unwrap_or(NO_RELEASE);
    if kept != newest {
        let what = format!(
            "is of {kept}, and the changelog says that {newest} was released: run `cargo xtask api \
             --released` at that version"
        );
        return vec![problem(RELEASED, what)];
    }
    let now: BTreeSet<String> = texts.values().flat_map(|text| promises(text)).collect();
    let mut gone = BTreeMap::<String, Vec<String>>::new();
    for promise in promises(facts.baseline).difference(&now) {
        let krate = promise.split("::").next().unwrap_or_default().replace('_', "-");
        let krate = krate.split(' ').next().unwrap_or_default().to_owned();
        gone.entry(krate).or_default().push(promise.clone());
    }
    let version = workspace_version(facts.manifest).unwrap_or_default();
    let mut found = Vec::new();
    for (krate, gone) in gone {
        let named = gone.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join("; ");
        let what = format!("{} promises of {krate} {kept} are broken ({named})", gone.len());
        if !says_breaking(facts.changelog, &krate) {
            let what = format!(
                "{what}: bring them back, or say in the unreleased part `{BREAKING} {krate}: …`"
            );
            found.push(problem(CHANGELOG, what));
        }
        if !may_break(kept, &version) {
            let what = format!("{what}: version {version} may not, see semantic versioning");
            found.push(problem(super::MANIFEST, what));
        }
    }
    found
}

fn promise_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with('#') && !line.starts_with(VERSION_KEY))
}

/// Each promise by itself: of a list of traits, one for each.
fn promises(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in promise_lines(text).filter(|line| !line.is_empty()) {
        match line.split_once(" impls ") {
            Some((path, names)) => {
                found.extend(names.split(", ").map(|name| format!("{path} impls {name}")));
            }
            None => drop(found.insert(line.to_owned())),
        }
    }
    found
}

/// The version of the first heading that is not unreleased.
fn newest_release(changelog: &str) -> Option<&str> {
    let headings = changelog.lines().filter_map(|line| line.strip_prefix("## "));
    let mut released = headings.filter(|heading| !heading.contains("unreleased"));
    released.next()?.split([',', ' ']).next()
}

/// Whether the unreleased part tells of a broken promise of the crate.
fn says_breaking(changelog: &str, krate: &str) -> bool {
    let mut unreleased = false;
    changelog.lines().any(|line| {
        if let Some(heading) = line.strip_prefix("## ") {
            unreleased = heading.contains("unreleased");
        }
        unreleased
            && line.trim_start_matches(['-', ' ']).starts_with(BREAKING)
            && line
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
                .any(|word| word == krate)
    })
}

/// Whether `new` is a version that may break what `old` promised: another first number that is not 0.
fn may_break(old: &str, new: &str) -> bool {
    let leading = |version: &str| -> Option<(u64, u64)> {
        let mut numbers = version.split('.').map(str::parse);
        let (major, minor) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        Some(if major == 0 { (0, minor) } else { (major, 0) })
    };
    leading(new) > leading(old)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASELINE: &str =
        "# X\nversion: 1.2.0\nweir_core::a fn()\nweir_core::T impls Clone, Debug\n";

    fn problems_of(changelog: &str, version: &str, now: &str) -> Vec<String> {
        let manifest = format!("[workspace.package]\nversion = \"{version}\"\n");
        let texts = [("api-core.txt".to_owned(), now.to_owned())].into_iter().collect();
        let facts = ReleaseFacts { baseline: BASELINE, changelog, manifest: &manifest };
        broken_promises(&facts, &texts).into_iter().map(|problem| problem.what).collect()
    }

    #[test]
    fn r4_what_was_promised_stays_or_goes_with_a_word_and_a_version() {
        let log = "## 1.3.0, unreleased\n\n## 1.2.0, 2027-01-01\n";
        let same = "weir_core::a fn()\nweir_core::b fn()\nweir_core::T impls Clone, Debug, Eq\n";
        assert_eq!(problems_of(log, "1.3.0", same), [""; 0], "more is no break");
        let changed = "weir_core::a fn(u8)\nweir_core::T impls Debug\n";
        let found = problems_of(log, "1.3.0", changed);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].starts_with("2 promises of weir-core 1.2.0 are broken (weir_core::T impls")
        );
        let said =
            "## 2.0.0, unreleased\n\n- BREAKING weir-core: `a` takes a number.\n\n## 1.2.0, x\n";
        assert_eq!(problems_of(said, "2.0.0", changed), [""; 0]);
        assert_eq!(problems_of(said, "1.3.0", changed).len(), 1, "a word alone is not enough");
        let before = "## 2.0.0, unreleased\n\n## 1.2.0, x\n\n- BREAKING weir-core: old\n";
        assert_eq!(problems_of(before, "2.0.0", changed).len(), 1, "an old word is not enough");
    }

    #[test]
    fn r4_a_release_without_its_promises_is_found() {
        let released = "## 1.4.0, unreleased\n\n## 1.3.0, 2027-02-01\n";
        let found = problems_of(released, "1.4.0", "");
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("is of 1.2.0"), "{found:?}");
    }

    #[test]
    fn versions_that_may_break_are_those_of_semantic_versioning() {
        for (old, new, may) in [
            ("0.1.0", "0.1.1", false),
            ("0.1.0", "0.2.0", true),
            ("0.9.0", "1.0.0", true),
            ("1.0.0", "1.9.0", false),
            ("1.9.3", "2.0.0", true),
            ("2.0.0", "1.0.0", false),
        ] {
            assert_eq!(may_break(old, new), may, "{old} {new}");
        }
    }
}
