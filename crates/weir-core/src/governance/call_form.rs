//! The texts by which calls are compared: one for one input, however it was written. Not here: what follows
//! where two are the same (`gate/repetition`, `outcome`).

use serde_json::Value;

use crate::tool::Effects;

/// The workspace as a path.
const ROOT: &str = ".";
/// Longest text that is read as a path.
const PATH_BYTES_MAX: usize = 4096;

/// One text for one tool and one input: how calls of unknown outcome are recognised (D4).
pub fn call_form(tool: &str, input: &Value) -> String {
    format!("{tool} {}", canonical_json(input))
}

/// [`canonical_json`], with each path in the form in which the call's effects name it: `./a`, `x/../a` and
/// the absolute path of `a` are one form (L6). The workspace resolved the paths; here a text only
/// counts as one of them when it reads as that path, and the longest that fits is taken. The workspace
/// itself is `.`, also where nothing names it.
pub fn same_form(input: &Value, effects: &Effects, workspace: &str) -> String {
    let names = NamedPaths { effects, root: workspace.trim_end_matches('/') };
    let mut out = String::new();
    write_canonical(input, (!effects.paths.is_empty()).then_some(&names), &mut out);
    out
}

/// One text for one value: keys sorted, no space. The only form in which inputs are compared or
/// hashed.
pub fn canonical_json(value: &Value) -> String {
    let mut out = String::new();
    write_canonical(value, None, &mut out);
    out
}

/// The paths that the effects of a call name.
struct NamedPaths<'a> {
    effects: &'a Effects,
    root: &'a str,
}

impl<'a> NamedPaths<'a> {
    /// The path that `text` reads as.
    fn find_path(&self, text: &str) -> Option<&'a str> {
        let mut plain = lexical_path(text)?;
        if !self.root.is_empty() && plain == self.root {
            plain.clear();
        }
        if plain.is_empty() {
            return self.has_root().then_some(ROOT);
        }
        let reads_as = |path: &&str| {
            plain == *path
                || (plain.starts_with('/')
                    && plain.strip_suffix(*path).is_some_and(|before| before.ends_with('/')))
        };
        let paths = self.effects.paths.iter().map(|at| at.path.as_str());
        paths.filter(|path| !path.is_empty()).filter(reads_as).max_by_key(|path| path.len())
    }

    fn has_root(&self) -> bool {
        self.effects.paths.iter().any(|at| matches!(at.path.as_str(), "" | "."))
    }
}

fn write_canonical<'a>(value: &'a Value, names: Option<&NamedPaths<'a>>, out: &mut String) {
    // A text, as the path that it reads as.
    let shown = |value: &'a Value| match value {
        Value::String(text) => {
            Some(names.and_then(|names| names.find_path(text)).unwrap_or(text.as_str()))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    };
    match value {
        Value::Object(map) => {
            let leaves_root_out = names.is_some_and(NamedPaths::has_root);
            let told = |item: &'a Value| !leaves_root_out || shown(item) != Some(ROOT);
            let mut fields: Vec<(&String, &Value)> =
                map.iter().filter(|(_, item)| told(item)).collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            out.push('{');
            for (at, (name, item)) in fields.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_text(name, out);
                out.push(':');
                write_canonical(item, names, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_canonical(item, names, out);
            }
            out.push(']');
        }
        Value::String(text) => write_text(shown(value).unwrap_or(text), out),
        Value::Null | Value::Bool(_) | Value::Number(_) => out.push_str(&value.to_string()),
    }
}

/// A text as JSON has it. What it writes as it stands, which is nearly every text, is not looked at again.
fn write_text(text: &str, out: &mut String) {
    if text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&serde_json::to_string(text).expect("every text is JSON"));
    }
}

/// `text` without `.`, `..` and doubled slashes, read as a path; `None` where it is none.
fn lexical_path(text: &str) -> Option<String> {
    if text.is_empty() || text.len() > PATH_BYTES_MAX || text.contains(['\n', '\0']) {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => (),
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    let root = if text.starts_with('/') { "/" } else { "" };
    Some(format!("{root}{}", parts.join("/")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tool::{PathAccess, PathEffect, PathPlace};

    /// What an older version wrote into journals and snapshots is what this one compares with.
    #[test]
    fn l6_the_form_of_a_value_is_its_json_with_sorted_keys() {
        for c in ('\0'..='\u{100}').chain(['\u{2028}', '…', '🦀']) {
            let text = format!("a{c}b");
            assert_eq!(canonical_json(&json!(text)), json!(text).to_string(), "{text:?}");
            let items = json!([text, 1, 1.5, -7, true, null]);
            let named = Value::Object([(text, items)].into_iter().collect());
            assert_eq!(canonical_json(&named), named.to_string());
        }
        let value = json!({ "b": { "d": [], "c": {} }, "a": [{ "f": 1, "e": 2 }] });
        assert_eq!(canonical_json(&value), r#"{"a":[{"e":2,"f":1}],"b":{"c":{},"d":[]}}"#);
    }

    #[test]
    fn l6_a_path_has_one_form_however_it_is_written() {
        let on = |paths: &[&str]| Effects {
            paths: paths
                .iter()
                .map(|path| PathEffect::new(*path, PathAccess::Read, PathPlace::Inside))
                .collect(),
            ..Effects::default()
        };
        let form = |input: Value, paths: &[&str]| same_form(&input, &on(paths), "/w/");
        for text in ["src/a.rs", "./src/a.rs", "src/x/../a.rs", "/w/src//a.rs"] {
            let found = form(json!({ "path": text, "n": [text] }), &["a.rs", "src/a.rs"]);
            assert_eq!(found, r#"{"n":["src/a.rs"],"path":"src/a.rs"}"#, "{text}");
        }
        assert_eq!(
            form(json!({ "path": "/w/xsrc/a.rs" }), &["src/a.rs"]),
            r#"{"path":"/w/xsrc/a.rs"}"#
        );
        for text in [".", "/w", "./", "a/.."] {
            assert_eq!(form(json!({ "path": text, "n": 1 }), &["."]), r#"{"n":1}"#, "{text}");
            assert_eq!(form(json!([text]), &[""]), r#"["."]"#, "{text}");
        }
        assert_eq!(form(json!({ "path": "./a" }), &[]), r#"{"path":"./a"}"#);
    }
}
