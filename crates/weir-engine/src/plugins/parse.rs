//! Reads a `plugin.toml`: whatever is wrong with it is said with file and line.

use weir_core::plugin::{PluginManifest, check_manifest, find_hidden_character};

use crate::misspelling::name_what_was_meant;

/// The manifest in `text`, which stands at `place` for people, in a folder called `folder`. `base` is
/// the address that a person set for it.
///
/// # Errors
/// The first thing that is wrong: `plugin.toml:12: commands.build.run has …`.
pub(super) fn parse_manifest(
    text: &str,
    place: &str,
    folder: &str,
    base: Option<&str>,
) -> Result<PluginManifest, String> {
    if let Some((line, c)) = find_hidden_character(text) {
        return Err(format!(
            "{place}:{line}: has the character U+{:04X}, which hides or turns others round; take it \
             out",
            u32::from(c)
        ));
    }
    let manifest: PluginManifest = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        let what = name_what_was_meant(error.message().lines().next().unwrap_or_default());
        format!("{place}:{line}: {what}")
    })?;
    check_manifest(&manifest, folder, base)
        .map_err(|problem| format!("{place}:{}: {problem}", line_of(text, &problem.key)))?;
    Ok(manifest)
}

/// The line at which a key stands, or its nearest table; 1 where neither is found.
fn line_of(text: &str, key: &str) -> usize {
    let parts: Vec<&str> = key.split('.').collect();
    (0..=parts.len())
        .rev()
        .find_map(|split| {
            let table = parts[..split].join(".");
            line_in(text, &table, parts.get(split).copied())
        })
        .unwrap_or(1)
}

/// The line of `field` in `table`; without a field that of the table's head.
fn line_in(text: &str, table: &str, field: Option<&str>) -> Option<usize> {
    let mut present = String::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(head) = line.strip_prefix('[') {
            let head = head.trim_start_matches('[');
            let head = head.split(']').next().unwrap_or_default();
            present = head
                .split('.')
                .map(|part| part.trim().trim_matches('"'))
                .collect::<Vec<_>>()
                .join(".");
            if field.is_none() && present == table {
                return Some(number + 1);
            }
        } else if let Some(field) = field
            && present == table
        {
            let rest = line.strip_prefix(field).unwrap_or("x");
            if rest.starts_with([' ', '=', '.', '\t']) {
                return Some(number + 1);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "id = \"demo\"\nname = \"Demo\"\nversion = \"1\"\n";

    fn problem(rest: &str) -> String {
        let text = format!("{HEAD}{rest}");
        parse_manifest(&text, "plugin.toml", "demo", None)
            .map(|_| String::new())
            .unwrap_or_else(|why| why)
    }

    #[test]
    fn t11_what_is_wrong_is_said_with_its_line() {
        for (rest, begins) in [
            ("", ""),
            ("colour = \"red\"\n", "plugin.toml:4: unknown field `colour`"),
            (
                "[commands.a]\nrun = \"ls\"\nruns = \"x\"\n",
                "plugin.toml:6: unknown field `runs`; did you mean `run`?",
            ),
            ("[commands.a\n", "plugin.toml:4: "),
            ("[commands.a]\nrun = \"\"\n", "plugin.toml:5: commands.a.run is empty"),
            ("[commands.a]\ndescription = \"x\"\n", "plugin.toml:4: commands.a has neither"),
            (
                "[commands.a]\nrun = \"sh -c '{{x}}'\"\n[[commands.a.args]]\nname = \"x\"\n",
                "plugin.toml:5: commands.a.run has {{x}} within quotes",
            ),
            (
                "[commands.a]\nscript = \"../../bin/x\"\n",
                "plugin.toml:5: commands.a.script is \"../../bin/x\", which is no path",
            ),
            (
                "[api.a]\nhttp = { method = \"GET\", url = \"https://{{h}}/\" }\n",
                "plugin.toml:5: api.a.http.url has an argument in its host",
            ),
            ("[api.a]\nmcp = \"x\"\n", "plugin.toml:5: api.a.mcp"),
            ("[api]\na = { script = 3 }\n", "plugin.toml:5: invalid type"),
            ("description = \"a\u{202e}b\"\n", "plugin.toml:4: has the character U+202E"),
        ] {
            let found = problem(rest);
            assert!(found.starts_with(begins), "{rest}\n  {found}\n  {begins}");
            assert_eq!(found.is_empty(), begins.is_empty(), "{found}");
        }
    }

    #[test]
    fn t11_the_plugin_that_comes_along_is_sound() {
        let text = super::super::found::OBSIDIAN;
        let manifest = parse_manifest(text, "obsidian", "obsidian", None).expect("it is sound");
        assert_eq!(
            manifest.hosts(manifest.base_address(None)),
            ["127.0.0.1:27123".to_owned()].into()
        );
        let https = parse_manifest(text, "obsidian", "obsidian", Some("https://127.0.0.1:27124"));
        assert!(https.is_ok());
        assert!(parse_manifest(text, "obsidian", "obsidian", Some("127.0.0.1")).is_err());
    }
}
