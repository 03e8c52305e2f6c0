//! A recipe in a file: TOML with the fields of a recipe. What is wrong is said with its line. Not
//! here: which files there are.

use std::fmt;

use weir_core::governance::label::Label;
use weir_core::recipe::{Recipe, RecipeSource, check_recipe};

use crate::misspelling::name_what_was_meant;

/// Most bytes of a file with a recipe.
pub const FILE_BYTES_MAX: u64 = 64 * 1024;

/// Something wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecipeFault {
    /// The line that it is about, from 1.
    pub line: usize,
    /// A sentence.
    pub says: String,
}

impl fmt::Display for RecipeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.says)
    }
}

/// The recipe in a text. Where it comes from is not the file's to say.
///
/// # Errors
/// Everything that is wrong with it; at least one.
pub fn parse_file(text: &str) -> Result<Recipe, Vec<RecipeFault>> {
    let recipe: Recipe = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_at(text, span.start));
        let says = name_what_was_meant(&error.message().trim().replace('\n', " "));
        vec![RecipeFault { line, says }]
    })?;
    let recipe = Recipe { source: RecipeSource::Written, label: Label::default(), ..recipe };
    let faults = check_recipe(&recipe, None);
    if faults.is_empty() {
        return Ok(recipe);
    }
    Err(faults.into_iter().map(|says| RecipeFault { line: line_of(text, &says), says }).collect())
}

fn line_at(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// The line of the field that a finding of `check` begins with: `steps[1].input: …`.
fn line_of(text: &str, finding: &str) -> usize {
    let field = finding.split_once(": ").map_or(finding, |(field, _)| field);
    let (name, rest) = field.split_once('[').unwrap_or((field, ""));
    let number: Option<usize> = rest.split(']').next().and_then(|digits| digits.parse().ok());
    let table = format!("[[{name}]]");
    let begins = |line: &str| {
        let line = line.trim_start();
        let key = line.strip_prefix(name).map(str::trim_start);
        line.starts_with(&table) || key.is_some_and(|rest| rest.starts_with('='))
    };
    let mut lines = text.lines().enumerate().filter(|(_, line)| begins(line));
    let first = lines.next().map_or(1, |(at, _)| at + 1);
    match number {
        // Elements of a plain list stand where the list begins.
        Some(number) if number > 0 && text.contains(&table) => {
            lines.nth(number - 1).map_or(first, |(at, _)| at + 1)
        }
        _ => first,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "id = \"tidy\"\nname = \"Tidy\"\ndescription = \"Tidies.\"\n\
                        triggers = [\"tidy\"]\n\n[[parameters]]\nname = \"path\"\n\n\
                        [[steps]]\ntool = \"read_file\"\ninput = { path = \"{{path}}\" }\n\n\
                        [[steps]]\ntool = \"write_file\"\ninput = { path = \"b\", content = \"c\" }\n";

    #[test]
    fn m5_a_file_is_a_written_recipe_whatever_it_says() {
        let recipe = parse_file(GOOD).expect("a recipe");
        assert_eq!((recipe.id.as_str(), recipe.steps.len()), ("tidy", 2));
        let bold = format!("source = \"bundled\"\n{GOOD}");
        assert_eq!(parse_file(&bold).expect("a recipe").source, RecipeSource::Written);
    }

    #[test]
    fn m5_what_is_wrong_is_said_with_its_line() {
        for (from, to, line, words) in [
            ("name = \"Tidy\"", "name = Tidy", 2, "invalid"),
            ("name = \"Tidy\"", "nam = \"Tidy\"", 2, "unknown field `nam`; did you mean `name`?"),
            ("id = \"tidy\"", "id = \"Ti dy\"", 1, "id: "),
            ("[\"tidy\"]", "[]", 4, "triggers: there are none"),
            ("[\"tidy\"]", "[\"tidy\", \"!\"]", 4, "triggers[1]: it has no word"),
            ("{{path}}", "{{file}}", 9, "{{file}} is no parameter"),
            ("content = \"c\"", "content = \"{{step2.result}}\"", 13, "is not there yet"),
            ("tool = \"write_file\"", "tool = \"\"", 13, "steps[1].tool: it is empty"),
            ("name = \"path\"", "name = \"PATH\"", 6, "parameters[0].name"),
        ] {
            assert!(GOOD.contains(from), "{from}");
            let faults = parse_file(&GOOD.replacen(from, to, 1)).expect_err("a fault");
            let found = faults.iter().find(|fault| fault.says.contains(words));
            assert_eq!(found.map(|fault| fault.line), Some(line), "{to}: {faults:?}");
        }
        assert!(parse_file("").is_err());
        assert!(parse_file("\u{0}\u{1}").is_err());
        assert!(parse_file(&"[".repeat(50_000)).is_err());
    }
}
