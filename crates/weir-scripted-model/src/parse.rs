//! Reads the text of a script. The format is described in [`super`]; what a script means once it
//! was read stands in `step`.

mod lines;
mod values;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use regex::Regex;

use super::ScriptError;
use super::step::{self, Expect, Header, Node, Order, Rule, Say, Script, Step};
use lines::{Line, Logical};

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
        parse(text, None)
    }

    /// Reads a script from a file; its pictures are looked up beside it.
    ///
    /// # Errors
    /// The file cannot be read, or line and what is wrong there.
    pub fn read(path: &Path) -> Result<Script, ScriptError> {
        let named = |line, why| ScriptError { file: Some(path.display().to_string()), line, why };
        let text = fs::read_to_string(path)
            .map_err(|error| named(0, format!("cannot be read: {error}")))?;
        let mut script =
            parse(&text, path.parent()).map_err(|error| named(error.line, error.why))?;
        if script.header.name.is_none() {
            script.header.name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        }
        Ok(script)
    }
}

/// Reads `text`; pictures are looked up in `folder`.
fn parse(text: &str, folder: Option<&Path>) -> Result<Script, ScriptError> {
    if text.len() > SCRIPT_BYTES_MAX {
        return Err(at(0, format!("is larger than {SCRIPT_BYTES_MAX} bytes")));
    }
    let mut parser = Parser {
        folder,
        header: Header::default(),
        rules: Vec::new(),
        open: vec![Open { kind: Kind::Root, line: 0, nodes: Vec::new() }],
        draft: None,
        begun: false,
    };
    for line in lines::logical(text)? {
        parser.take(&line)?;
    }
    parser.finish()
}

/// An error at a line, without a file's name.
fn at(line: usize, why: impl Into<String>) -> ScriptError {
    ScriptError { file: None, line, why: why.into() }
}

struct Parser<'a> {
    folder: Option<&'a Path>,
    header: Header,
    rules: Vec<Rule>,
    open: Vec<Open>,
    draft: Option<Step>,
    /// A step, loop or rule was seen: header lines are over.
    begun: bool,
}

struct Open {
    kind: Kind,
    line: usize,
    nodes: Vec<Node>,
}

enum Kind {
    Root,
    Loop(u64),
    When(Regex),
}

impl Parser<'_> {
    fn take(&mut self, line: &Line<'_>) -> Result<(), ScriptError> {
        match &line.what {
            Logical::Break => self.flush(),
            Logical::End => self.end(line.number),
            Logical::Pair { key, .. } => self.pair(key, line),
        }
    }

    fn pair(&mut self, key: &str, line: &Line<'_>) -> Result<(), ScriptError> {
        if self.header_line(key, line)? {
            return Ok(());
        }
        self.begun = true;
        match key {
            "loop" => {
                let count = values::count(&line.plain()).map_err(|why| at(line.number, why))?;
                self.begin(Kind::Loop(count), line.number)
            }
            "when" => {
                let text = values::quoted_or_plain(&line.text()).map_err(|w| at(line.number, w))?;
                let pattern = Regex::new(&text)
                    .map_err(|error| at(line.number, format!("no regular expression: {error}")))?;
                if self.open.len() > 1 {
                    let why =
                        "`when:` stands at the top level, not inside a loop or another `when:`";
                    return Err(at(line.number, why));
                }
                self.begin(Kind::When(pattern), line.number)
            }
            "model" => self.model_line(line),
            _ => self.step_line(key, line),
        }
    }

    /// `model: says …` begins a step of its own: the words of scenario files.
    fn model_line(&mut self, line: &Line<'_>) -> Result<(), ScriptError> {
        self.flush()?;
        let (word, rest) = line.first.split_once(char::is_whitespace).unwrap_or((line.first, ""));
        let known = ["says", "calls", "thinks", "fails", "raw-arguments"];
        if !known.contains(&word) {
            let why = format!(
                "`model:` is followed by one of {}; `name:` gives the model its name",
                known.join(", ")
            );
            return Err(at(line.number, why));
        }
        let inner = Line { first: rest.trim_start(), ..line.clone() };
        self.step_line(word, &inner)
    }

    fn step_line(&mut self, key: &str, line: &Line<'_>) -> Result<(), ScriptError> {
        let folder = self.folder;
        let step = self.draft.get_or_insert_with(|| Step { line: line.number, ..Step::default() });
        fill(step, key, line, folder).map_err(|why| at(line.number, why))
    }

    fn header_line(&mut self, key: &str, line: &Line<'_>) -> Result<bool, ScriptError> {
        let header = &mut self.header;
        let value = line.plain();
        let done: Result<(), String> = match key {
            "dialect" => {
                header.dialect = Some(value);
                Ok(())
            }
            "name" => {
                header.name = Some(value);
                Ok(())
            }
            "window" => values::count(&value).map(|count| header.window = Some(count)),
            "max-output" => values::count(&value).map(|count| header.max_output = Some(count)),
            "abilities" => {
                let names = value.split(',').map(str::trim).filter(|name| !name.is_empty());
                header.abilities = Some(names.map(String::from).collect());
                Ok(())
            }
            "price" => values::price(&value).map(|price| header.price = Some(price)),
            "order" => match value.as_str() {
                "history" => {
                    header.order = Order::History;
                    Ok(())
                }
                "requests" => {
                    header.order = Order::Requests;
                    Ok(())
                }
                _ => Err(format!("`order: {value}` is neither `history` nor `requests`")),
            },
            _ => return Ok(false),
        };
        done.map_err(|why| at(line.number, why))?;
        if self.begun {
            let why = format!("`{key}:` is a header line: it stands before the first step");
            return Err(at(line.number, why));
        }
        Ok(true)
    }

    fn begin(&mut self, kind: Kind, line: usize) -> Result<(), ScriptError> {
        self.flush()?;
        if self.open.len() > NESTING_MAX {
            return Err(at(line, format!("more than {NESTING_MAX} loops within each other")));
        }
        self.open.push(Open { kind, line, nodes: Vec::new() });
        Ok(())
    }

    fn end(&mut self, line: usize) -> Result<(), ScriptError> {
        self.flush()?;
        if self.open.len() < 2 {
            return Err(at(line, "`end` without a `loop:` or `when:` before it"));
        }
        let Some(open) = self.open.pop() else { return Ok(()) };
        if open.nodes.is_empty() {
            return Err(at(open.line, "nothing stands between this line and its `end`"));
        }
        match open.kind {
            Kind::Root => {}
            Kind::When(pattern) => self.rules.push(Rule { pattern, sequence: open.nodes }),
            Kind::Loop(count) => {
                let steps = step::count(&open.nodes);
                self.push(Node::Loop { count, body: open.nodes, steps });
            }
        }
        Ok(())
    }

    fn push(&mut self, node: Node) {
        if let Some(open) = self.open.last_mut() {
            open.nodes.push(node);
        }
    }

    fn flush(&mut self) -> Result<(), ScriptError> {
        let Some(step) = self.draft.take() else { return Ok(()) };
        if step.says.is_empty() && step.errors.is_empty() {
            let why = "this step says nothing: it needs `says:`, `think:`, `calls:`, \
                       `raw-arguments:`, `image:` or `error:` (an empty line ends a step)";
            return Err(at(step.line, why));
        }
        self.push(Node::Step(Arc::new(step)));
        Ok(())
    }

    fn finish(mut self) -> Result<Script, ScriptError> {
        self.flush()?;
        if let Some(open) = self.open.get(1) {
            return Err(at(open.line, "has no `end`"));
        }
        let sequence = self.open.pop().map(|open| open.nodes).unwrap_or_default();
        if sequence.is_empty() && self.rules.is_empty() {
            return Err(at(0, "has no step; the shortest script is one line: `says: Hello.`"));
        }
        Ok(Script { header: self.header, sequence, rules: self.rules })
    }
}

/// Puts one line into `step`.
fn fill(step: &mut Step, key: &str, line: &Line<'_>, folder: Option<&Path>) -> Result<(), String> {
    match key {
        "says" | "text" => step.says.push(Say::Text(line.text())),
        "think" | "thinks" => step.says.push(Say::Thinking(line.text())),
        "says-json" => step.says.push(Say::Text(values::json_string(&line.text())?)),
        "think-json" => step.says.push(Say::Thinking(values::json_string(&line.text())?)),
        "calls" => step.says.push(values::call(&line.text())?),
        "raw-arguments" => step.says.push(values::raw_call(&line.text())?),
        "image" => step.says.push(values::image(&line.plain(), folder)?),
        "usage" => step.usage = Some(values::usage(&line.plain())?),
        "stop" => step.stop = Some(values::stop(&line.plain())?),
        "error" | "fails" => step.errors.push(values::fault(&line.plain())?),
        "delay" => step.delay = values::duration(&line.plain())?,
        "pace" => step.pace = values::duration(&line.plain())?,
        "repeat" => step.repeat = values::count(&line.plain())?,
        "call-ids" => {
            step.call_ids = line.plain().split(',').map(|id| id.trim().to_owned()).collect();
        }
        "expect" | "expect-not" => step.expects.push(Expect {
            line: line.number,
            what: values::expected(&line.text())?,
            not: key == "expect-not",
        }),
        _ => return Err(unknown(key)),
    }
    Ok(())
}

fn unknown(key: &str) -> String {
    format!(
        "`{key}:` is no word of a script. Words of a step: says, think, calls, raw-arguments, \
         image, usage, stop, error, delay, pace, repeat, call-ids, expect, expect-not; around \
         steps: loop, when, end, ---; in the header: dialect, name, window, max-output, price, \
         order"
    )
}

#[cfg(test)]
mod tests;
