//! The calls of several runs as the steps of one recipe: what is the same stays, what differs
//! becomes a parameter. Not here: which runs belong together.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::private::looks_private;
use super::{SolvedRun, words};
use crate::recipe::{PARAMETERS_MAX, RecipeParameter, RecipeStep};

/// Most characters of a text that stays as it is; a longer one is the work, not the way.
const CONSTANT_CHARS_MAX: usize = 1_000;
/// Most characters of a text that is taken apart into what is the same and what differs.
const TEMPLATE_CHARS_MAX: usize = 300;
/// Most characters of an example in a description.
const EXAMPLE_CHARS_MAX: usize = 60;

/// Steps and parameters, and every value that differs: its words belong to no trigger.
pub(super) struct MergedSteps {
    pub(super) steps: Vec<RecipeStep>,
    pub(super) parameters: Vec<RecipeParameter>,
    pub(super) values: BTreeSet<String>,
}

/// A parameter with the value that each run had for it.
struct FoundParameter {
    parameter: RecipeParameter,
    values: Vec<Value>,
}

struct RunMerger<'a> {
    said: Vec<&'a str>,
    found: Vec<FoundParameter>,
}

/// The calls of runs of one shape, laid over each other; `None`: too much of them differs.
pub(super) fn merge_runs(runs: &[&SolvedRun]) -> Option<MergedSteps> {
    let first = runs.first()?;
    let said = runs.iter().map(|run| run.said.as_str()).collect();
    let mut merging = RunMerger { said, found: Vec::new() };
    let mut steps = Vec::new();
    for (at, call) in first.calls.iter().enumerate() {
        let inputs: Option<Vec<&Value>> =
            runs.iter().map(|run| run.calls.get(at).map(|call| &call.input)).collect();
        let input = merging.merge_value(&call.tool, &inputs?);
        steps.push(RecipeStep { tool: call.tool.clone(), input, expect: None });
    }
    let values = merging.found.iter().flat_map(|found| &found.values).map(text_of).collect();
    let parameters: Vec<RecipeParameter> =
        merging.found.into_iter().map(|found| found.parameter).collect();
    (parameters.len() <= PARAMETERS_MAX).then_some(MergedSteps { steps, parameters, values })
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

impl RunMerger<'_> {
    /// One value for those of all runs; `name`: what a parameter for it would be called.
    fn merge_value(&mut self, name: &str, values: &[&Value]) -> Value {
        let Some(first) = values.first() else { return Value::Null };
        match first {
            Value::Object(fields) if same_keys(fields, values) => {
                let merged = fields.keys().map(|key| {
                    let of_key: Vec<&Value> = values.iter().filter_map(|v| v.get(key)).collect();
                    (key.clone(), self.merge_value(key, &of_key))
                });
                return Value::Object(merged.collect::<Map<_, _>>());
            }
            Value::Array(items) if same_length(items.len(), values) => {
                let merged = (0..items.len()).map(|at| {
                    let of_place: Vec<&Value> = values.iter().filter_map(|v| v.get(at)).collect();
                    self.merge_value(name, &of_place)
                });
                return Value::Array(merged.collect());
            }
            _ => (),
        }
        if values.iter().all(|value| value == first) && may_stay(first) {
            return (*first).clone();
        }
        let texts: Option<Vec<&str>> = values.iter().map(|value| value.as_str()).collect();
        if let Some(texts) = texts
            && !self.all_said(&texts)
            && let Some((before, after, middles)) = common_template(&texts)
            && self.all_said(&middles)
        {
            let middles = middles.iter().map(|middle| Value::from(*middle)).collect();
            let placeholder = self.parameter_placeholder(name, middles);
            return Value::from(format!("{before}{placeholder}{after}"));
        }
        let values = values.iter().map(|value| (*value).clone()).collect();
        Value::from(self.parameter_placeholder(name, values))
    }

    /// Whether each text stands as it is in the message of its run.
    fn all_said(&self, texts: &[&str]) -> bool {
        texts.iter().zip(&self.said).all(|(text, said)| has_whole_words(text, said))
    }

    /// The placeholder of the parameter that has these values: one for the same values everywhere.
    fn parameter_placeholder(&mut self, name: &str, values: Vec<Value>) -> String {
        if let Some(same) = self.found.iter().find(|found| found.values == values) {
            return format!("{{{{{}}}}}", same.parameter.name);
        }
        let name = self.free_name(name);
        let description = self.describe_values(&values);
        let placeholder = format!("{{{{{name}}}}}");
        let parameter = RecipeParameter { name, description, optional: false };
        self.found.push(FoundParameter { parameter, values });
        placeholder
    }

    fn free_name(&self, wanted: &str) -> String {
        let plain: String = words::fold_accents(wanted)
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .take(40)
            .collect();
        let plain = if plain.trim_matches('_').is_empty() { "value".to_string() } else { plain };
        let taken = |name: &str| self.found.iter().any(|found| found.parameter.name == name);
        let mut name = plain.clone();
        let mut number = 2;
        while taken(&name) {
            name = format!("{plain}_{number}");
            number += 1;
        }
        name
    }

    /// Where its value comes from, for the planner; an example only of what nothing private is in.
    fn describe_values(&self, values: &[Value]) -> String {
        let texts: Option<Vec<&str>> = values.iter().map(|value| value.as_str()).collect();
        let said = texts.is_some_and(|texts| self.all_said(&texts));
        let from = match said {
            true => "Stands in the message",
            false => "Not said in the message: follows from the task, or from an earlier step",
        };
        let example = values.iter().map(text_of).find(|text| {
            let fits = text.chars().count() <= EXAMPLE_CHARS_MAX && !text.trim().is_empty();
            let plain = |c: char| !c.is_control() && !crate::safe_text::is_deceptive(c);
            fits && text.chars().all(plain) && !looks_private(text)
        });
        match example {
            Some(example) => format!("{from}; once it was “{example}”."),
            None => format!("{from}."),
        }
    }
}

/// Whether a value that is the same in all runs may stand in a recipe.
fn may_stay(value: &Value) -> bool {
    let text = text_of(value);
    let short = text.chars().count() <= CONSTANT_CHARS_MAX;
    // What looks like a placeholder would be read as one.
    short && !looks_private(&text) && !text.contains("{{")
}

fn same_keys(fields: &Map<String, Value>, values: &[&Value]) -> bool {
    values.iter().all(|value| {
        let other = value.as_object();
        other.is_some_and(|o| o.len() == fields.len() && fields.keys().all(|k| o.contains_key(k)))
    })
}

fn same_length(length: usize, values: &[&Value]) -> bool {
    values.iter().all(|value| value.as_array().is_some_and(|items| items.len() == length))
}

/// What differing texts have in common at both ends, cut where words end, and what each has between;
/// `None`: nothing, or one of them has nothing else.
fn common_template<'t>(texts: &[&'t str]) -> Option<(String, String, Vec<&'t str>)> {
    let first = texts.first()?;
    if texts.iter().any(|text| text.chars().count() > TEMPLATE_CHARS_MAX) {
        return None;
    }
    let common = |mut a: std::str::Chars<'_>, mut b: std::str::Chars<'_>| {
        let mut bytes = 0;
        while let (Some(x), Some(y)) = (a.next(), b.next()) {
            if x != y {
                break;
            }
            bytes += x.len_utf8();
        }
        bytes
    };
    let head = texts.iter().map(|text| common(first.chars(), text.chars())).min()?;
    let head = first[..head]
        .rfind(|c: char| !c.is_alphanumeric())
        .map_or(0, |at| at + first[at..].chars().next().map_or(0, char::len_utf8));
    let back = |text: &str| {
        let mut a = first[head..].chars().rev();
        let mut b = text[head..].chars().rev();
        let mut bytes = 0;
        while let (Some(x), Some(y)) = (a.next(), b.next()) {
            if x != y {
                break;
            }
            bytes += x.len_utf8();
        }
        bytes
    };
    let tail = texts.iter().map(|text| back(text)).min()?;
    let from = first.len() - tail;
    let tail = first[from..].find(|c: char| !c.is_alphanumeric()).map_or(0, |at| tail - at);
    let (before, after) = (&first[..head], &first[first.len() - tail..]);
    if (before.is_empty() && after.is_empty()) || before.contains("{{") || after.contains("{{") {
        return None;
    }
    if looks_private(before) || looks_private(after) {
        return None;
    }
    let middles: Vec<&str> = texts.iter().map(|text| &text[head..text.len() - tail]).collect();
    let some = middles.iter().all(|middle| !middle.trim().is_empty());
    some.then(|| (before.to_string(), after.to_string(), middles))
}

/// Whether `text` stands in `said` as whole words.
fn has_whole_words(text: &str, said: &str) -> bool {
    let ends = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    !text.trim().is_empty()
        && said.match_indices(text).any(|(at, _)| {
            ends(said[..at].chars().next_back()) && ends(said[at + text.len()..].chars().next())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m5_what_differs_is_cut_at_words() {
        let of = |texts: &[&'static str]| common_template(texts);
        assert_eq!(
            of(&["notes/garden.md", "notes/house.md"]),
            Some(("notes/".into(), ".md".into(), vec!["garden", "house"]))
        );
        // Letters in common are no common part.
        assert_eq!(of(&["garden", "garage"]), None);
        assert_eq!(
            of(&["a/gardens.md", "a/houses.md"]),
            Some(("a/".into(), ".md".into(), vec!["gardens", "houses"]))
        );
        assert_eq!(of(&["a/", "a/b"]), None);
        assert_eq!(of(&["ä/ö.md", "ä/ü.md"]), Some(("ä/".into(), ".md".into(), vec!["ö", "ü"])));
        assert_eq!(of(&["aa", "aaa"]), None);
        assert_eq!(of(&["- a", "- a a"]), Some(("- ".into(), String::new(), vec!["a", "a a"])));
    }

    #[test]
    fn m5_a_value_stands_in_a_message_as_whole_words() {
        assert!(has_whole_words("garden", "Water the garden!"));
        assert!(has_whole_words("a b", "x a b."));
        assert!(!has_whole_words("gard", "Water the garden"));
        assert!(!has_whole_words("", "x"));
        assert!(!has_whole_words("x", ""));
    }
}
