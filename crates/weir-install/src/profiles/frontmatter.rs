//! The head of a Markdown file between two lines `---`: the plain part of YAML that such heads use
//! (names, texts, numbers, lists, one level of tables). What goes beyond is refused with its line.

use serde_json::{Map, Value};

/// Fields and the text below. A file without a head has no fields.
///
/// # Errors
/// `LINE: what is wrong`.
pub(super) fn split_frontmatter(text: &str) -> Result<(Map<String, Value>, &str), String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(after) = text
        .strip_prefix("---")
        .and_then(|rest| rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')))
    else {
        return Ok((Map::new(), text));
    };
    let mut head = Vec::new();
    let mut rest = after;
    loop {
        if rest.is_empty() {
            return Err("1: its head has no end: a line `---` is missing".into());
        }
        let (line, below) = rest.split_once('\n').unwrap_or((rest, ""));
        rest = below;
        if line.trim_end() == "---" {
            break;
        }
        head.push(line.trim_end());
    }
    Ok((parse_fields(&head)?, rest))
}

fn parse_fields(lines: &[&str]) -> Result<Map<String, Value>, String> {
    let mut fields = Map::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        let number = at + 2;
        at += 1;
        if is_blank(line) {
            continue;
        }
        if line.starts_with([' ', '\t']) {
            return Err(format!("{number}: is indented below nothing"));
        }
        let (name, value) = split_field_line(line, number)?;
        let below = lines[at..].iter().take_while(|l| is_blank(l) || l.starts_with([' ', '-']));
        let below: Vec<&str> = below.copied().collect();
        let value = match value {
            "" if below.iter().any(|line| !is_blank(line)) => {
                parse_nested_value(&below, number + 1)?
            }
            "" => Value::Null,
            "|" | ">" | "|-" | ">-" => parse_folded_text(&below, value.starts_with('>')),
            _ if below.iter().any(|line| !is_blank(line)) => {
                return Err(format!("{}: does not belong to {name}", number + 1));
            }
            value => parse_scalar(value, number)?,
        };
        at += below.len();
        if !value.is_null() && fields.insert(name.to_owned(), value).is_some() {
            return Err(format!("{number}: {name} stands there twice"));
        }
    }
    Ok(fields)
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with('#')
}

fn split_field_line(line: &str, number: usize) -> Result<(&str, &str), String> {
    let found = line.split_once(':').filter(|(name, rest)| {
        !name.trim().is_empty() && (rest.is_empty() || rest.starts_with([' ', '\t']))
    });
    let (name, value) = found.ok_or_else(|| format!("{number}: is not `name: value`"))?;
    Ok((name.trim(), value.trim()))
}

/// A list of items, or a table of one level.
fn parse_nested_value(lines: &[&str], first: usize) -> Result<Value, String> {
    let numbered = lines.iter().enumerate().filter(|(_, line)| !is_blank(line));
    let mut list = Vec::new();
    let mut table = Map::new();
    for (at, line) in numbered {
        let number = first + at;
        match line.trim_start().strip_prefix("- ") {
            Some(item) => list.push(parse_scalar(item.trim(), number)?),
            None => {
                let (name, value) = split_field_line(line.trim_start(), number)?;
                table.insert(name.to_owned(), parse_scalar(value, number)?);
            }
        }
    }
    match (list.is_empty(), table.is_empty()) {
        (false, true) => Ok(Value::Array(list)),
        (true, false) => Ok(Value::Object(table)),
        _ => Err(format!("{first}: mixes a list and a table")),
    }
}

/// A text of several lines.
fn parse_folded_text(lines: &[&str], joined: bool) -> Value {
    let indent = lines.iter().filter(|line| !line.trim().is_empty());
    let indent = indent.map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    let lines: Vec<&str> = lines.iter().map(|line| line.get(indent..).unwrap_or("")).collect();
    Value::String(lines.join(if joined { " " } else { "\n" }).trim().to_owned())
}

fn parse_scalar(text: &str, number: usize) -> Result<Value, String> {
    let unclosed = || format!("{number}: a quotation mark or bracket is not closed");
    if text.starts_with('"') {
        return serde_json::from_str::<String>(text).map(Value::String).map_err(|_| unclosed());
    }
    if let Some(rest) = text.strip_prefix('\'') {
        let inner = rest.strip_suffix('\'').ok_or_else(unclosed)?;
        return Ok(Value::String(inner.replace("''", "'")));
    }
    if let Some(rest) = text.strip_prefix('[') {
        let inner = rest.strip_suffix(']').ok_or_else(unclosed)?;
        let items = inner.split(',').map(str::trim).filter(|item| !item.is_empty());
        let plain = |item: &str| match item.starts_with('[') {
            true => Err(format!("{number}: a list in a list is not understood here")),
            false => parse_scalar(item, number),
        };
        return items.map(plain).collect::<Result<_, _>>().map(Value::Array);
    }
    if text.starts_with(['{', '&', '*', '!', '@', '`', '%']) {
        return Err(format!("{number}: this form is not understood here; write plain values"));
    }
    let plain = text.split(" #").next().unwrap_or_default().trim_end();
    Ok(match plain {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "null" | "~" => Value::Null,
        number => number.parse::<u64>().map_or_else(|_| Value::from(number), Value::from),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn p7_heads_are_read_and_what_goes_beyond_is_refused() {
        let text = "---\nname: reviewer # short\ndescription: \"a: b\"\ngroups: [read, web]\n\
                    tools:\n  - glob\n  - 'x''y'\nlimits:\n  max_iterations: 9\n\
                    role: |\n  You are\n  careful.\n---\nBody\n";
        let (fields, body) = split_frontmatter(text).expect("plain");
        assert_eq!(
            Value::Object(fields),
            json!({"name": "reviewer", "description": "a: b", "groups": ["read", "web"],
                   "tools": ["glob", "x'y"], "limits": {"max_iterations": 9},
                   "role": "You are\ncareful."})
        );
        assert_eq!(body, "Body\n");
        assert_eq!(split_frontmatter("no head").expect("none").1, "no head");
        for (text, line) in [
            ("---\nname: x", "1:"),
            ("---\nname\n---\n", "2:"),
            ("---\n  x: y\n---\n", "2:"),
            ("---\nname: \"x\n---\n", "2:"),
            ("---\nname: {a: b}\n---\n", "2:"),
            ("---\na: 1\na: 2\n---\n", "3:"),
            ("---\na: [[b]]\n---\n", "2:"),
        ] {
            let why = split_frontmatter(text).expect_err(text);
            assert!(why.starts_with(line), "{text:?}: {why}");
        }
    }

    #[test]
    fn z10_lists_in_lists_end_no_stack() {
        let deep = format!("---\na: {}{}\n---\n", "[".repeat(100_000), "]".repeat(100_000));
        assert!(split_frontmatter(&deep).is_err_and(|why| why.starts_with("2:")));
    }
}
