//! Whether a recipe is one that can be used (M5): sizes, names, placeholders, tools. Every finding
//! is a sentence that names the field. Not here: the file it stands in, and whether it is a good
//! one.

use super::placeholder::{self, Placeholder};
use super::{Recipe, RecipeStep, words};
use crate::safe_text::is_deceptive;
use crate::tool::built_in::{ToolTrait, has_trait};

/// Most characters of an id.
pub const ID_CHARS_MAX: usize = 64;
/// Most characters of a name.
pub const NAME_CHARS_MAX: usize = 80;
/// Most characters of a description.
pub const DESCRIPTION_CHARS_MAX: usize = 400;
/// Most triggers, and most words that rule a recipe out.
pub const TRIGGERS_MAX: usize = 24;
/// Most parameters.
pub const PARAMETERS_MAX: usize = 16;
/// Most steps.
pub const STEPS_MAX: usize = 16;
/// Most characters of one trigger.
const TRIGGER_CHARS_MAX: usize = 60;
/// Most bytes of the arguments of one step.
const INPUT_BYTES_MAX: usize = 8_000;
/// Most characters of what a result must contain.
const EXPECT_CHARS_MAX: usize = 500;
/// What is wrong with a recipe; empty: nothing. `tools`: the tools that there are, where they are
/// known.
pub fn check_recipe(recipe: &Recipe, tools: Option<&[&str]>) -> Vec<String> {
    let mut wrong = Vec::new();
    if !is_id(&recipe.id) {
        wrong.push(format!(
            "id: {:?} is none; it has 1 to {ID_CHARS_MAX} characters of a-z, 0-9 and -, and begins \
             with a letter or digit",
            shorten_text(&recipe.id)
        ));
    }
    check_line(&mut wrong, "name", &recipe.name, NAME_CHARS_MAX);
    check_line(&mut wrong, "description", &recipe.description, DESCRIPTION_CHARS_MAX);
    if recipe.triggers.is_empty() {
        wrong.push("triggers: there are none, so it never matches; name words of messages".into());
    }
    for (field, list) in [("triggers", &recipe.triggers), ("excludes", &recipe.excludes)] {
        if list.len() > TRIGGERS_MAX {
            wrong.push(format!("{field}: {} are too many; at most {TRIGGERS_MAX}", list.len()));
        }
        for (at, phrase) in list.iter().enumerate() {
            check_line(&mut wrong, &format!("{field}[{at}]"), phrase, TRIGGER_CHARS_MAX);
            if !phrase.trim().is_empty() && words::folded_words(phrase).is_empty() {
                wrong.push(format!("{field}[{at}]: it has no word in it"));
            }
        }
    }
    for (at, name) in recipe.profiles.iter().enumerate() {
        check_line(&mut wrong, &format!("profiles[{at}]"), name, NAME_CHARS_MAX);
    }
    check_parameters(&mut wrong, recipe);
    if recipe.steps.is_empty() || recipe.steps.len() > STEPS_MAX {
        wrong.push(format!("steps: a recipe has 1 to {STEPS_MAX}, not {}", recipe.steps.len()));
    }
    for (at, step) in recipe.steps.iter().enumerate() {
        self::check_step(&mut wrong, recipe, at, step, tools);
    }
    wrong
}

/// Whether `id` can be the id of a recipe.
pub fn is_id(id: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    id.len() <= ID_CHARS_MAX && id.chars().all(fits) && !id.is_empty() && !id.starts_with('-')
}

fn check_parameters(wrong: &mut Vec<String>, recipe: &Recipe) {
    if recipe.parameters.len() > PARAMETERS_MAX {
        let count = recipe.parameters.len();
        wrong.push(format!("parameters: {count} are too many; at most {PARAMETERS_MAX}"));
    }
    for (at, parameter) in recipe.parameters.iter().enumerate() {
        let field = format!("parameters[{at}]");
        let name = &parameter.name;
        if !placeholder::is_parameter_name(name) || name.len() > ID_CHARS_MAX {
            wrong.push(format!(
                "{field}.name: {:?} is none; it has a-z, 0-9 and _",
                shorten_text(name)
            ));
        }
        if recipe.parameters[..at].iter().any(|other| other.name == *name) {
            wrong.push(format!("{field}.name: there are two of {:?}", shorten_text(name)));
        }
        if !parameter.description.is_empty() {
            let field = format!("{field}.description");
            check_line(wrong, &field, &parameter.description, DESCRIPTION_CHARS_MAX);
        }
        let named = Placeholder::Parameter(name.clone());
        let uses = |step: &RecipeStep| placeholder::of_value(&step.input).contains(&named);
        if !recipe.steps.iter().any(uses) {
            let name = shorten_text(name);
            wrong.push(format!("{field}: no step uses {{{{{name}}}}}; use it, or take it away"));
        }
    }
}

fn check_step(
    wrong: &mut Vec<String>,
    recipe: &Recipe,
    at: usize,
    step: &RecipeStep,
    tools: Option<&[&str]>,
) {
    let field = format!("steps[{at}]");
    let tool = shorten_text(&step.tool);
    if step.tool.is_empty() {
        wrong.push(format!("{field}.tool: it is empty; name the tool that is called"));
    } else if has_trait(&step.tool, ToolTrait::NoRecipeStep) {
        wrong.push(format!("{field}.tool: {tool} steers the agent and is no step of a recipe"));
    } else if tools.is_some_and(|tools| !tools.contains(&step.tool.as_str())) {
        wrong.push(format!("{field}.tool: there is no tool {tool:?}"));
    }
    if !step.input.is_object() {
        wrong.push(format!("{field}.input: the arguments of a tool are an object"));
    }
    let bytes = step.input.to_string().len();
    if bytes > INPUT_BYTES_MAX {
        wrong.push(format!("{field}.input: {bytes} bytes are too many; at most {INPUT_BYTES_MAX}"));
    }
    for found in placeholder::of_value(&step.input) {
        let known = |name: &String| recipe.parameters.iter().any(|p| p.name == *name);
        match found {
            Placeholder::Parameter(name) if known(&name) => (),
            Placeholder::Parameter(name) => wrong.push(format!(
                "{field}.input: {{{{{name}}}}} is no parameter of this recipe; add it to \
                 [[parameters]], or write what is meant"
            )),
            Placeholder::Result(number) if (1..=at).contains(&number) => (),
            Placeholder::Result(number) => wrong.push(format!(
                "{field}.input: {{{{step{number}.result}}}} is not there yet; step {} can refer to \
                 steps before it only",
                at + 1
            )),
            Placeholder::Unreadable(text) => wrong.push(format!(
                "{field}.input: {:?} is no placeholder; write {{{{parameter}}}} or \
                 {{{{step1.result}}}}",
                shorten_text(&text)
            )),
        }
    }
    let Some(expect) = &step.expect else { return };
    for (name, text) in [("contains", &expect.contains), ("lacks", &expect.lacks)] {
        let Some(text) = text else { continue };
        if text.is_empty() || text.chars().count() > EXPECT_CHARS_MAX {
            wrong.push(format!("{field}.expect.{name}: it has 1 to {EXPECT_CHARS_MAX} characters"));
        }
    }
    if *expect == super::StepExpectation::default() {
        wrong.push(format!("{field}.expect: it asks for nothing; set contains, lacks or some"));
    }
}

/// One line that can be shown.
fn check_line(wrong: &mut Vec<String>, field: &str, text: &str, max: usize) {
    let length = text.chars().count();
    if text.trim().is_empty() {
        wrong.push(format!("{field}: it is empty"));
    } else if length > max {
        wrong.push(format!("{field}: {length} characters are too many; at most {max}"));
    }
    if text.chars().any(|c| c.is_control() || is_deceptive(c)) {
        wrong.push(format!("{field}: it is one line without hidden characters"));
    }
}

fn shorten_text(text: &str) -> String {
    crate::safe_text::visible_text(&text.chars().take(ID_CHARS_MAX).collect::<String>())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn good() -> Value {
        json!({
            "id": "rename", "name": "Rename", "description": "Renames a word.",
            "triggers": ["rename"],
            "parameters": [{"name": "old"}],
            "steps": [
                {"tool": "search_files", "input": {"pattern": "{{old}}"}, "expect": {"some": true}},
                {"tool": "write_file", "input": {"path": "a.md", "content": "{{step1.result}}"}},
            ],
        })
    }

    fn checked(value: Value) -> Vec<String> {
        let recipe: Recipe = serde_json::from_value(value).expect("the form of a recipe");
        check_recipe(&recipe, Some(&["search_files", "write_file"]))
    }

    #[test]
    fn m5_a_good_recipe_has_no_findings() {
        assert_eq!(checked(good()), [""; 0]);
    }

    #[test]
    fn m5_every_finding_names_its_field() {
        let long = "x".repeat(900);
        for (at, value, expected) in [
            ("/id", json!("Rename It"), "id: \"Rename It\" is none"),
            ("/id", json!(""), "id: \"\" is none"),
            ("/id", json!("../../etc"), "id: "),
            ("/id", json!("-x"), "id: "),
            ("/name", json!(" "), "name: it is empty"),
            ("/name", json!("a\nb"), "name: it is one line"),
            ("/name", json!("a\u{202e}b"), "name: it is one line"),
            ("/description", json!(long), "description: 900 characters are too many"),
            ("/triggers", json!([]), "triggers: there are none"),
            ("/triggers", json!(["..."]), "triggers[0]: it has no word"),
            ("/triggers", json!(vec!["a"; 25]), "triggers: 25 are too many"),
            ("/parameters/0/name", json!("Old"), "parameters[0].name: \"Old\" is none"),
            ("/parameters", json!([{"name": "old"}, {"name": "old"}]), "there are two of \"old\""),
            ("/parameters", json!([{"name": "old"}, {"name": "new"}]), "parameters[1]: no step"),
            ("/parameters", json!([]), "steps[0].input: {{old}} is no parameter"),
            ("/steps", json!([]), "steps: a recipe has 1 to 16, not 0"),
            ("/steps/0/tool", json!("serach"), "steps[0].tool: there is no tool \"serach\""),
            ("/steps/0/tool", json!("execute_recipe"), "steps[0].tool: execute_recipe steers"),
            ("/steps/0/tool", json!(""), "steps[0].tool: it is empty"),
            ("/steps/0/input", json!("text"), "steps[0].input: the arguments"),
            (
                "/steps/0/input",
                json!({"a": "{{step1.result}}"}),
                "{{step1.result}} is not there yet",
            ),
            (
                "/steps/1/input",
                json!({"a": "{{step2.result}}"}),
                "{{step2.result}} is not there yet",
            ),
            (
                "/steps/1/input",
                json!({"a": "{{step0.result}}"}),
                "{{step0.result}} is not there yet",
            ),
            ("/steps/1/input", json!({"a": "{{what now"}), "steps[1].input: \"{{what now\" is no"),
            ("/steps/1/input", json!({"a": long.repeat(10)}), "steps[1].input: 9008 bytes"),
            ("/steps/0/expect", json!({}), "steps[0].expect: it asks for nothing"),
            ("/steps/0/expect", json!({"contains": ""}), "steps[0].expect.contains: it has 1"),
        ] {
            let mut changed = good();
            *changed.pointer_mut(at).expect("the field") = value;
            let found = checked(changed);
            assert!(found.iter().any(|text| text.contains(expected)), "{at}: {found:?}");
        }
    }

    #[test]
    fn m5_without_a_list_tools_are_not_judged() {
        let recipe: Recipe = serde_json::from_value(good()).expect("a recipe");
        assert_eq!(check_recipe(&recipe, Some(&[])).len(), 2);
        assert_eq!(check_recipe(&recipe, None), [""; 0]);
    }
}
