//! Reads the text of a script. The format is described in [`super`]; what a script means once it
//! was read stands in `step`.

mod lines;
mod values;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use regex::Regex;

use super::ScriptError;
use super::search::{self, ScriptedSearch};
use super::step::{
    self, PromptRule, Script, ScriptExpectation, ScriptHeader, ScriptNode, ScriptStep,
    ScriptedPiece, StepOrder,
};
use lines::{LineContent, ScriptLine};

/// Largest script in bytes: a script is written or exported for people to read.
const SCRIPT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Loops within loops.
const NESTING_MAX: usize = 8;

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// Line and what is wrong there.
    pub fn parse(text: &str) -> Result<Script, ScriptError> {
        parse_script(text, None)
    }

    /// Reads a script from a file; its pictures are looked up beside it.
    ///
    /// # Errors
    /// The file cannot be read, or line and what is wrong there.
    pub fn parse_file(path: &Path) -> Result<Script, ScriptError> {
        let named = |line, why| ScriptError { file: Some(path.display().to_string()), line, why };
        let text = read_file(path).map_err(|error| named(0, format!("cannot be read: {error}")))?;
        let mut script =
            parse_script(&text, path.parent()).map_err(|error| named(error.line, error.why))?;
        if script.header.name.is_none() {
            script.header.name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        }
        Ok(script)
    }
}

/// The text of a script: no more of a file without an end than shows that it is too large.
fn read_file(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(SCRIPT_BYTES_MAX as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

/// Reads `text`; pictures are looked up in `folder`.
fn parse_script(text: &str, folder: Option<&Path>) -> Result<Script, ScriptError> {
    if text.len() > SCRIPT_BYTES_MAX {
        return Err(error_at(0, format!("is larger than {SCRIPT_BYTES_MAX} bytes")));
    }
    let mut parser = ScriptParser {
        folder,
        header: ScriptHeader::default(),
        rules: Vec::new(),
        searches: Vec::new(),
        open: vec![OpenScope { kind: Kind::Root, line: 0, nodes: Vec::new() }],
        draft: None,
        begun: false,
    };
    for line in lines::logical_lines(text)? {
        parser.take_line(&line)?;
    }
    parser.finish()
}

/// An error at a line, without a file's name.
fn error_at(line: usize, why: impl Into<String>) -> ScriptError {
    ScriptError { file: None, line, why: why.into() }
}

struct ScriptParser<'a> {
    folder: Option<&'a Path>,
    header: ScriptHeader,
    rules: Vec<PromptRule>,
    searches: Vec<ScriptedSearch>,
    open: Vec<OpenScope>,
    draft: Option<ScriptStep>,
    /// A step, loop or rule was seen: header lines are over.
    begun: bool,
}

struct OpenScope {
    kind: Kind,
    line: usize,
    nodes: Vec<ScriptNode>,
}

enum Kind {
    Root,
    Loop(u64),
    When(Regex),
}

impl ScriptParser<'_> {
    fn take_line(&mut self, line: &ScriptLine<'_>) -> Result<(), ScriptError> {
        match &line.what {
            LineContent::Break => self.flush(),
            LineContent::End => self.end_scope(line.number),
            LineContent::Pair { key, .. } => self.take_pair(key, line),
        }
    }

    fn take_pair(&mut self, key: &str, line: &ScriptLine<'_>) -> Result<(), ScriptError> {
        if self.header_line(key, line)? {
            return Ok(());
        }
        self.begun = true;
        match key {
            "loop" => {
                let count = values::parse_count(&line.plain_value())
                    .map_err(|why| error_at(line.number, why))?;
                self.begin_scope(Kind::Loop(count), line.number)
            }
            "when" => {
                let text = values::quoted_or_plain(&line.value_text())
                    .map_err(|w| error_at(line.number, w))?;
                let pattern = Regex::new(&text).map_err(|error| {
                    error_at(line.number, format!("no regular expression: {error}"))
                })?;
                if self.open.len() > 1 {
                    let why =
                        "`when:` stands at the top level, not inside a loop or another `when:`";
                    return Err(error_at(line.number, why));
                }
                self.begin_scope(Kind::When(pattern), line.number)
            }
            "model" => self.model_line(line),
            "found" => {
                self.flush()?;
                let found =
                    search::parse_search(line.first.trim(), &line.more, values::parse_fault)
                        .map_err(|why| error_at(line.number, why))?;
                self.searches.push(found);
                Ok(())
            }
            _ => self.step_line(key, line),
        }
    }

    /// `model: says …` begins a step of its own: the words of scenario files.
    fn model_line(&mut self, line: &ScriptLine<'_>) -> Result<(), ScriptError> {
        self.flush()?;
        let (word, rest) = line.first.split_once(char::is_whitespace).unwrap_or((line.first, ""));
        let known = ["says", "calls", "thinks", "fails", "raw-arguments"];
        if !known.contains(&word) {
            let why = format!(
                "`model:` is followed by one of {}; `name:` gives the model its name",
                known.join(", ")
            );
            return Err(error_at(line.number, why));
        }
        let inner = ScriptLine { first: rest.trim_start(), ..line.clone() };
        self.step_line(word, &inner)
    }

    fn step_line(&mut self, key: &str, line: &ScriptLine<'_>) -> Result<(), ScriptError> {
        let folder = self.folder;
        let step = self
            .draft
            .get_or_insert_with(|| ScriptStep { line: line.number, ..ScriptStep::default() });
        fill_step(step, key, line, folder).map_err(|why| error_at(line.number, why))
    }

    fn header_line(&mut self, key: &str, line: &ScriptLine<'_>) -> Result<bool, ScriptError> {
        let header = &mut self.header;
        let value = line.plain_value();
        let done: Result<(), String> = match key {
            "dialect" => {
                header.dialect = Some(value);
                Ok(())
            }
            "name" => {
                header.name = Some(value);
                Ok(())
            }
            "window" => values::parse_count(&value).map(|count| header.window = Some(count)),
            "max-output" => {
                values::parse_count(&value).map(|count| header.max_output = Some(count))
            }
            "abilities" => {
                let names = value.split(',').map(str::trim).filter(|name| !name.is_empty());
                header.abilities = Some(names.map(String::from).collect());
                Ok(())
            }
            "price" => values::parse_price(&value).map(|price| header.price = Some(price)),
            "order" => match value.as_str() {
                "history" => {
                    header.order = StepOrder::History;
                    Ok(())
                }
                "requests" => {
                    header.order = StepOrder::Requests;
                    Ok(())
                }
                _ => Err(format!("`order: {value}` is neither `history` nor `requests`")),
            },
            _ => return Ok(false),
        };
        done.map_err(|why| error_at(line.number, why))?;
        if self.begun {
            let why = format!("`{key}:` is a header line: it stands before the first step");
            return Err(error_at(line.number, why));
        }
        Ok(true)
    }

    fn begin_scope(&mut self, kind: Kind, line: usize) -> Result<(), ScriptError> {
        self.flush()?;
        if self.open.len() > NESTING_MAX {
            return Err(error_at(line, format!("more than {NESTING_MAX} loops within each other")));
        }
        self.open.push(OpenScope { kind, line, nodes: Vec::new() });
        Ok(())
    }

    fn end_scope(&mut self, line: usize) -> Result<(), ScriptError> {
        self.flush()?;
        if self.open.len() < 2 {
            return Err(error_at(line, "`end` without a `loop:` or `when:` before it"));
        }
        let Some(open) = self.open.pop() else { return Ok(()) };
        if open.nodes.is_empty() {
            return Err(error_at(open.line, "nothing stands between this line and its `end`"));
        }
        match open.kind {
            Kind::Root => {}
            Kind::When(pattern) => self.rules.push(PromptRule { pattern, sequence: open.nodes }),
            Kind::Loop(count) => {
                let steps = step::count_steps(&open.nodes);
                self.push(ScriptNode::Loop { count, body: open.nodes, steps });
            }
        }
        Ok(())
    }

    fn push(&mut self, node: ScriptNode) {
        if let Some(open) = self.open.last_mut() {
            open.nodes.push(node);
        }
    }

    fn flush(&mut self) -> Result<(), ScriptError> {
        let Some(step) = self.draft.take() else { return Ok(()) };
        if step.says.is_empty() && step.errors.is_empty() {
            let why = "this step says nothing: it needs `says:`, `think:`, `calls:`, \
                       `raw-arguments:`, `image:` or `error:` (an empty line ends a step)";
            return Err(error_at(step.line, why));
        }
        self.push(ScriptNode::Step(Arc::new(step)));
        Ok(())
    }

    fn finish(mut self) -> Result<Script, ScriptError> {
        self.flush()?;
        if let Some(open) = self.open.get(1) {
            return Err(error_at(open.line, "has no `end`"));
        }
        let sequence = self.open.pop().map(|open| open.nodes).unwrap_or_default();
        if sequence.is_empty() && self.rules.is_empty() {
            return Err(error_at(
                0,
                "has no step; the shortest script is one line: `says: Hello.`",
            ));
        }
        Ok(Script { header: self.header, sequence, rules: self.rules, searches: self.searches })
    }
}

/// Puts one line into `step`.
fn fill_step(
    step: &mut ScriptStep,
    key: &str,
    line: &ScriptLine<'_>,
    folder: Option<&Path>,
) -> Result<(), String> {
    match key {
        "says" | "text" => step.says.push(ScriptedPiece::Text(line.value_text())),
        "think" | "thinks" => step.says.push(ScriptedPiece::Thinking(line.value_text())),
        "says-json" => {
            step.says.push(ScriptedPiece::Text(values::json_string(&line.value_text())?))
        }
        "think-json" => {
            step.says.push(ScriptedPiece::Thinking(values::json_string(&line.value_text())?))
        }
        "calls" => step.says.push(values::parse_call(&line.value_text())?),
        "raw-arguments" => step.says.push(values::raw_call(&line.value_text())?),
        "image" => step.says.push(values::parse_image(&line.plain_value(), folder)?),
        "usage" => step.usage = Some(values::parse_usage(&line.plain_value())?),
        "stop" => step.stop = Some(values::parse_stop(&line.plain_value())?),
        "error" | "fails" => step.errors.push(values::parse_fault(&line.plain_value())?),
        "delay" => step.delay = values::parse_duration(&line.plain_value())?,
        "pace" => step.pace = values::parse_duration(&line.plain_value())?,
        "repeat" => step.repeat = values::parse_count(&line.plain_value())?,
        "call-ids" => {
            step.call_ids = line.plain_value().split(',').map(|id| id.trim().to_owned()).collect();
        }
        "expect" | "expect-not" => step.expects.push(ScriptExpectation {
            line: line.number,
            what: values::parse_expected(&line.value_text())?,
            not: key == "expect-not",
        }),
        _ => return Err(unknown_key_message(key)),
    }
    Ok(())
}

fn unknown_key_message(key: &str) -> String {
    format!(
        "`{key}:` is no word of a script. Words of a step: says, think, calls, raw-arguments, \
         image, usage, stop, error, delay, pace, repeat, call-ids, expect, expect-not; around \
         steps: loop, when, end, ---; in the header: dialect, name, window, max-output, price, \
         order"
    )
}

#[cfg(test)]
mod tests;
