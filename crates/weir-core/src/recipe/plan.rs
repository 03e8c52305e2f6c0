//! The calls of a recipe: what the planner is asked, how its answer is read, how parameters and
//! earlier results are put in, which calls may run together (L16). Pure. Not here: asking the
//! planner, and the session that makes the calls.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{PlannedCall, Recipe, RecipeStep, StepExpectation};
use crate::tool::ToolSpec;

mod given;
mod parts;

pub use given::StepOutput;
use parts::{
    DEPTH_MAX, PlaceholderPart, names_in, replace_placeholders, split_placeholders, steps_in,
};

/// Most calls of one plan.
pub const CALLS_MAX: usize = 16;
/// Most bytes of an answer of the planner that are read.
const ANSWER_BYTES_MAX: usize = 256 * 1024;
/// Most characters of the person's message that the planner is told.
const MESSAGE_CHARS_MAX: usize = 20_000;
/// Most characters of one result that are put into a later call.
pub const RESULT_CHARS_MAX: usize = 100_000;

/// What the planner is told of its task.
pub const PLANNER: &str = "You fill in recipes. You are given a person's message, a recipe whose \
steps are calls of tools, and the schemas of these tools. Answer with one JSON array and nothing \
else: no words, no explanation. Each element is {\"tool\": NAME, \"input\": ARGUMENTS} and is one \
call, in the order of the recipe. Put the values that the message gives in place of {{name}}. \
Repeat a step where the message names several things, leave one out where it is not needed, and \
use no other tools. Where a call needs what an earlier one gives, write {{stepN.result}}, N being \
the place of that call in your own array, counted from 1. If the message does not fit the recipe, \
or does not say what a call needs, answer [].";

/// What the planner is asked.
pub fn planner_question(message: &str, recipe: &Recipe, tools: &[ToolSpec]) -> String {
    let message: String = message.chars().take(MESSAGE_CHARS_MAX).collect();
    let mut text = format!("Message of the person:\n{}\n\n", message.trim());
    let steps: Vec<Value> =
        recipe.steps.iter().map(|step| json!({ "tool": step.tool, "input": step.input })).collect();
    let recipe = json!({
        "name": recipe.name, "description": recipe.description,
        "parameters": recipe.parameters, "steps": steps,
    });
    let _ = write!(text, "Recipe:\n{recipe}\n\nTools:\n");
    for tool in tools {
        let _ = writeln!(text, "{}: {}", tool.name, tool.input_schema);
    }
    text
}

/// Reads the planner's answer: one JSON array of calls of the recipe's tools, in a code fence or
/// not, and nothing else.
///
/// # Errors
/// What is wrong with it: a sentence without a full stop.
pub fn parse_plan(answer: &str, recipe: &Recipe) -> Result<Vec<PlannedCall>, String> {
    if answer.len() > ANSWER_BYTES_MAX {
        return Err("the plan is too long".into());
    }
    let text = strip_code_fence(answer.trim());
    if text.is_empty() {
        return Err("the planner said nothing".into());
    }
    if !text.starts_with(['[', '{', '"']) {
        return Err("the planner answered in words, not with a JSON array".into());
    }
    let value: Value = serde_json::from_str(text).map_err(|error| match error.is_eof() {
        true => "the plan is cut off: its JSON does not end".to_string(),
        false => format!("the plan is not JSON: {error}"),
    })?;
    let Value::Array(items) = value else {
        return Err("the plan is not a JSON array".into());
    };
    if items.is_empty() {
        return Err("the planner found that it does not fit the message".into());
    }
    if items.len() > CALLS_MAX {
        return Err(format!("the plan has {} calls; at most {CALLS_MAX} are made", items.len()));
    }
    let mut calls = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        calls.push(parse_call(item, index + 1, recipe)?);
    }
    set_expectations(&mut calls, recipe)?;
    Ok(calls)
}

/// The text within a code fence, where the whole is one.
fn strip_code_fence(text: &str) -> &str {
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let Some(inner) = inner else { return text };
    let inner = inner.strip_prefix("json").unwrap_or(inner);
    inner.trim()
}

fn parse_call(item: Value, number: usize, recipe: &Recipe) -> Result<PlannedCall, String> {
    let Value::Object(mut fields) = item else {
        return Err(format!("call {number} of the plan is not an object"));
    };
    let Some(Value::String(tool)) = fields.remove("tool") else {
        return Err(format!("call {number} of the plan does not name its tool"));
    };
    let Some(input @ Value::Object(_)) = fields.remove("input") else {
        return Err(format!("call {number} of the plan has no object as its input"));
    };
    if let Some(other) = fields.keys().next() {
        return Err(format!("call {number} of the plan has the unknown field {other:?}"));
    }
    if !recipe.steps.iter().any(|step| step.tool == tool) {
        return Err(format!("call {number} of the plan uses {tool:?}, which is no tool of it"));
    }
    if let Some(step) = steps_in(&input)?.into_iter().find(|step| *step == 0 || *step >= number) {
        return Err(format!("call {number} of the plan needs the result of call {step}"));
    }
    let open = |name: &str| recipe.parameters.iter().any(|parameter| parameter.name == name);
    if let Some(name) = names_in(&input)?.into_iter().find(|name| open(name)) {
        return Err(format!("call {number} of the plan leaves {name:?} open"));
    }
    Ok(PlannedCall { tool, input, expect: None })
}

/// What the results must satisfy stands in the recipe, not in the plan: a call has the expectation
/// of the step that it was made of.
fn set_expectations(calls: &mut [PlannedCall], recipe: &Recipe) -> Result<(), String> {
    let mut values = BTreeMap::new();
    let mut made_of = Vec::with_capacity(calls.len());
    let mut last = None;
    for call in calls.iter() {
        let from = last.map_or(0, |at: usize| at + 1);
        let same = |at: &usize| recipe.steps[*at].tool == call.tool;
        // The next step of this tool; when there is none, the one before was repeated.
        let step = (from..recipe.steps.len()).find(same).or_else(|| (0..from).rev().find(same));
        let Some(step) = step else { continue };
        last = Some(step);
        made_of.push(step);
        learn_parameters(&recipe.steps[step].input, &call.input, &mut values, 0);
    }
    for (call, step) in calls.iter_mut().zip(made_of) {
        call.expect = filled_expect(&recipe.steps[step], &values)
            .map_err(|name| format!("it cannot be told what {name:?} of an expectation is"))?;
    }
    Ok(())
}

/// What a parameter was taken to be, read off the arguments that the planner wrote.
fn learn_parameters(
    pattern: &Value,
    filled: &Value,
    out: &mut BTreeMap<String, Value>,
    depth: usize,
) {
    match (pattern, filled) {
        _ if depth > DEPTH_MAX => (),
        (Value::String(pattern), filled) => {
            let parts = split_placeholders(pattern);
            let names =
                parts.iter().filter(|part| !matches!(part, PlaceholderPart::Text(_))).count();
            let Some(at) = parts.iter().position(|part| matches!(part, PlaceholderPart::Name(_)))
            else {
                return;
            };
            let (PlaceholderPart::Name(name), 1) = (&parts[at], names) else { return };
            let plain = |part: Option<&PlaceholderPart<'_>>| match part {
                Some(PlaceholderPart::Text(text)) => (*text).to_string(),
                _ => String::new(),
            };
            let before = plain(at.checked_sub(1).and_then(|at| parts.get(at)));
            let after = plain(parts.get(at + 1));
            let value = match filled {
                Value::String(text) => text
                    .strip_prefix(&before)
                    .and_then(|rest| rest.strip_suffix(&after))
                    .map(|text| Value::String(text.into())),
                other => (before.is_empty() && after.is_empty()).then(|| other.clone()),
            };
            if let Some(value) = value {
                out.entry((*name).to_string()).or_insert(value);
            }
        }
        (Value::Object(pattern), Value::Object(filled)) => {
            for (key, pattern) in pattern {
                if let Some(filled) = filled.get(key) {
                    learn_parameters(pattern, filled, out, depth + 1);
                }
            }
        }
        (Value::Array(pattern), Value::Array(filled)) => {
            for (pattern, filled) in pattern.iter().zip(filled) {
                learn_parameters(pattern, filled, out, depth + 1);
            }
        }
        _ => (),
    }
}

/// The calls of a recipe with these parameters, without any planner (`execute_recipe`).
///
/// # Errors
/// What is missing or too much: a sentence for the model.
pub fn fill_recipe(
    recipe: &Recipe,
    parameters: &Map<String, Value>,
) -> Result<Vec<PlannedCall>, String> {
    let names: Vec<&str> = recipe.parameters.iter().map(|p| p.name.as_str()).collect();
    if let Some(unknown) = parameters.keys().find(|name| !names.contains(&name.as_str())) {
        let known = if names.is_empty() { "none".to_string() } else { names.join(", ") };
        return Err(format!("{} has no parameter {unknown:?}; it has: {known}", recipe.id));
    }
    let given = |name: &str| parameters.get(name).is_some_and(|value| !value.is_null());
    let missing = recipe.parameters.iter().find(|p| !p.optional && !given(&p.name));
    if let Some(missing) = missing {
        let about = &missing.description;
        return Err(format!("{} needs the parameter {:?}: {about}", recipe.id, missing.name));
    }
    if recipe.steps.is_empty() || recipe.steps.len() > CALLS_MAX {
        return Err(format!(
            "{} has {} steps; 1 to {CALLS_MAX} are followed",
            recipe.id,
            recipe.steps.len()
        ));
    }
    let values: BTreeMap<String, Value> = recipe
        .parameters
        .iter()
        .filter(|parameter| given(&parameter.name))
        .map(|parameter| (parameter.name.clone(), parameters[&parameter.name].clone()))
        .collect();
    let mut calls = Vec::with_capacity(recipe.steps.len());
    for (index, step) in recipe.steps.iter().enumerate() {
        let number = index + 1;
        let put = |part: &PlaceholderPart<'_>| match part {
            PlaceholderPart::Name(name) if names.contains(name) => {
                Ok(Some(values.get(*name).cloned().unwrap_or(Value::Null)))
            }
            PlaceholderPart::Name(_) | PlaceholderPart::Step(_) | PlaceholderPart::Text(_) => {
                Ok(None)
            }
        };
        let input = replace_placeholders(&step.input, &put, 0)?;
        let ahead = steps_in(&input)?.into_iter().find(|step| *step == 0 || *step >= number);
        if let Some(ahead) = ahead {
            return Err(format!("step {number} of {} needs the result of step {ahead}", recipe.id));
        }
        let expect = filled_expect(step, &values)
            .map_err(|name| format!("step {number} of {} expects {name:?}", recipe.id))?;
        calls.push(PlannedCall { tool: step.tool.clone(), input, expect });
    }
    Ok(calls)
}

/// The expectation of a step with what the parameters are; `Err`: the name of one that is unknown.
fn filled_expect(
    step: &RecipeStep,
    values: &BTreeMap<String, Value>,
) -> Result<Option<StepExpectation>, String> {
    let Some(expect) = &step.expect else { return Ok(None) };
    let filled = |text: &Option<String>| -> Result<Option<String>, String> {
        let Some(text) = text else { return Ok(None) };
        let mut out = String::new();
        for part in split_placeholders(text) {
            match part {
                PlaceholderPart::Text(text) => out.push_str(text),
                PlaceholderPart::Name(name) => match values.get(name) {
                    Some(Value::String(value)) => out.push_str(value),
                    Some(value) => out.push_str(&value.to_string()),
                    None => return Err(name.to_string()),
                },
                PlaceholderPart::Step(step) => return Err(format!("step{step}.result")),
            }
        }
        Ok(Some(out))
    };
    let (contains, lacks) = (filled(&expect.contains)?, filled(&expect.lacks)?);
    Ok(Some(StepExpectation { contains, lacks, some: expect.some }))
}

/// Whether a result satisfies what was expected.
///
/// # Errors
/// What does not hold.
pub fn check_expectation(expect: Option<&StepExpectation>, result: &str) -> Result<(), String> {
    let Some(expect) = expect else { return Ok(()) };
    if expect.some && result.trim().is_empty() {
        return Err("there should be some text, and there is none".into());
    }
    if let Some(text) = expect.contains.as_ref().filter(|text| !result.contains(text.as_str())) {
        return Err(format!("{text:?} should stand in it and does not"));
    }
    if let Some(text) = expect.lacks.as_ref().filter(|text| result.contains(text.as_str())) {
        return Err(format!("{text:?} should not stand in it and does"));
    }
    Ok(())
}

/// The arguments of a call with what earlier ones gave.
///
/// # Errors
/// What cannot be put in, and why.
pub fn with_results(input: &Value, given: &[StepOutput]) -> Result<Value, String> {
    let put = |part: &PlaceholderPart<'_>| {
        let PlaceholderPart::Step(step) = part else { return Ok(None) };
        let found = step.checked_sub(1).and_then(|at| given.get(at));
        let found = found.ok_or_else(|| format!("there is no result of step {step}"))?;
        if !found.whole {
            return Err(format!("the result of step {step} was cut and cannot be passed on"));
        }
        if found.text.chars().count() > RESULT_CHARS_MAX {
            return Err(format!("the result of step {step} is too long to be passed on"));
        }
        Ok(Some(Value::String(found.text.clone())))
    };
    replace_placeholders(input, &put, 0)
}

/// How many calls from `from` on run together: those that may run beside others and need no result
/// that is not there yet; any other runs alone.
pub fn wave_length(calls: &[PlannedCall], from: usize, beside: impl Fn(&str) -> bool) -> usize {
    let ready = |call: &PlannedCall| {
        let steps = steps_in(&call.input).unwrap_or_default();
        beside(&call.tool) && steps.iter().all(|step| *step <= from)
    };
    let together = calls[from.min(calls.len())..].iter().take_while(|call| ready(call)).count();
    together.max(1).min(calls.len().saturating_sub(from))
}

/// Whether arguments wait for the result of an earlier call.
pub fn needs_results(input: &Value) -> bool {
    steps_in(input).is_ok_and(|steps| !steps.is_empty())
}

#[cfg(test)]
mod tests;
