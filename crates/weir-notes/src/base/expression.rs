//! Formulas and filter statements as trees: numbers, texts, lists, operators, calls. Not here: what a
//! name means (`evaluate`), whether there is such a function (`check`).

/// Longest expression.
const BYTES_MAX: usize = 10_000;
/// Deepest nesting of brackets, calls and signs: each level calls the reader anew.
const DEPTH_MAX: usize = 60;
/// Longest chain of operators, fields and calls, what is nested in it included: so tall is the tree at
/// most.
const CHAIN_MAX: u16 = 500;

/// A tree with its place in the text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ExpressionNode {
    /// Byte at which it begins; of a call or field: the name's.
    pub(super) at: usize,
    pub(super) kind: ExpressionKind,
    /// Nodes on the longest way down.
    height: u16,
}

impl ExpressionNode {
    fn new(at: usize, kind: ExpressionKind) -> Result<ExpressionNode, String> {
        let tallest = |items: &mut dyn Iterator<Item = &ExpressionNode>| {
            items.map(|item| item.height).max().unwrap_or(0)
        };
        let below = match &kind {
            ExpressionKind::Null
            | ExpressionKind::Bool(_)
            | ExpressionKind::Number(_)
            | ExpressionKind::Text(_)
            | ExpressionKind::Pattern { .. }
            | ExpressionKind::Name(_) => 0,
            ExpressionKind::List(items) | ExpressionKind::Call(_, items) => {
                tallest(&mut items.iter())
            }
            ExpressionKind::Object(fields) => tallest(&mut fields.iter().map(|(_, value)| value)),
            ExpressionKind::Not(of)
            | ExpressionKind::Negative(of)
            | ExpressionKind::Field(of, _) => of.height,
            ExpressionKind::Binary(_, a, b) | ExpressionKind::Index(a, b) => a.height.max(b.height),
            ExpressionKind::Method(of, _, items) => of.height.max(tallest(&mut items.iter())),
        };
        match below < CHAIN_MAX {
            true => Ok(ExpressionNode { at, kind, height: below + 1 }),
            false => Err(format!("it chains more than {CHAIN_MAX} operators, fields and calls")),
        }
    }
    /// What a chain goes on from: the left of an operator, the value before a field, place or call.
    /// `note`, `formula` and `this` before a field or place are one with it.
    fn chain_start(&self) -> Option<&ExpressionNode> {
        match &self.kind {
            ExpressionKind::Binary(_, of, _) | ExpressionKind::Method(of, _, _) => Some(of),
            ExpressionKind::Field(of, _) | ExpressionKind::Index(of, _) => match &of.kind {
                ExpressionKind::Name(root) if ROOTS.contains(&root.as_str()) => None,
                _ => Some(of),
            },
            _ => None,
        }
    }
    /// The chain that ends here, backwards: itself, what it goes on from, and so on.
    pub(super) fn list_chain(&self) -> Vec<&ExpressionNode> {
        std::iter::successors(Some(self), |node| node.chain_start()).collect()
    }
}

/// Names whose fields are not those of a value.
const ROOTS: &[&str] = &["note", "formula", "this"];

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ExpressionKind {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    Pattern {
        source: String,
        flags: String,
    },
    Name(String),
    List(Vec<ExpressionNode>),
    Object(Vec<(String, ExpressionNode)>),
    Not(Box<ExpressionNode>),
    Negative(Box<ExpressionNode>),
    Binary(BinaryOperator, Box<ExpressionNode>, Box<ExpressionNode>),
    Field(Box<ExpressionNode>, String),
    Index(Box<ExpressionNode>, Box<ExpressionNode>),
    /// A function of its own.
    Call(String, Vec<ExpressionNode>),
    /// A function of a value.
    Method(Box<ExpressionNode>, String, Vec<ExpressionNode>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BinaryOperator {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Plus,
    Minus,
    Times,
    Divide,
    Modulo,
}

/// Operators by how tightly they bind, loosest first.
const LEVELS: &[&[(&str, BinaryOperator)]] = &[
    &[("||", BinaryOperator::Or)],
    &[("&&", BinaryOperator::And)],
    &[("==", BinaryOperator::Equal), ("!=", BinaryOperator::Unequal)],
    &[
        ("<=", BinaryOperator::LessOrEqual),
        (">=", BinaryOperator::GreaterOrEqual),
        ("<", BinaryOperator::Less),
        (">", BinaryOperator::Greater),
    ],
    &[("+", BinaryOperator::Plus), ("-", BinaryOperator::Minus)],
    &[("*", BinaryOperator::Times), ("/", BinaryOperator::Divide), ("%", BinaryOperator::Modulo)],
];

/// Reads an expression.
///
/// # Errors
/// What stands where nothing of the kind can stand, with its place.
pub(super) fn parse_expression(text: &str) -> Result<ExpressionNode, String> {
    if text.len() > BYTES_MAX {
        return Err(format!("it is longer than {BYTES_MAX} bytes"));
    }
    let mut reader = ExpressionReader { text, at: 0, depth: 0 };
    let found = reader.read_binary(0)?;
    reader.skip_blanks();
    match reader.unread_text().is_empty() {
        true => Ok(found),
        false => Err(reader.describe_unexpected()),
    }
}

struct ExpressionReader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> ExpressionReader<'a> {
    fn unread_text(&self) -> &'a str {
        &self.text[self.at..]
    }
    fn skip_blanks(&mut self) {
        let rest = self.unread_text();
        self.at += rest.len() - rest.trim_start().len();
    }
    /// Takes a sign.
    fn take_sign(&mut self, sign: &str) -> bool {
        self.skip_blanks();
        let there = self.unread_text().starts_with(sign);
        if there {
            self.at += sign.len();
        }
        there
    }
    fn require_sign(&mut self, sign: &str) -> Result<(), String> {
        match self.take_sign(sign) {
            true => Ok(()),
            false => Err(format!("{sign:?} is missing {}", self.describe_place())),
        }
    }
    fn describe_place(&self) -> String {
        match self.unread_text().trim().is_empty() {
            true => "at the end".into(),
            false => format!("at character {}", self.text[..self.at].chars().count() + 1),
        }
    }
    fn describe_unexpected(&self) -> String {
        let word: String = self.unread_text().chars().take(12).collect();
        match word.trim().is_empty() {
            true => "a value is missing at the end".into(),
            false => format!("{word:?} is not expected {}", self.describe_place()),
        }
    }

    fn read_binary(&mut self, level: usize) -> Result<ExpressionNode, String> {
        let Some(operators) = LEVELS.get(level) else { return self.read_unary() };
        let mut left = self.read_binary(level + 1)?;
        loop {
            self.skip_blanks();
            let rest = self.unread_text();
            let Some((sign, operator)) = operators.iter().find(|(sign, _)| rest.starts_with(*sign))
            else {
                return Ok(left);
            };
            self.at += sign.len();
            let right = self.read_binary(level + 1)?;
            let at = left.at;
            let kind = ExpressionKind::Binary(*operator, Box::new(left), Box::new(right));
            left = ExpressionNode::new(at, kind)?;
        }
    }

    fn read_unary(&mut self) -> Result<ExpressionNode, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(format!("it is nested deeper than {DEPTH_MAX}"));
        }
        self.skip_blanks();
        let at = self.at;
        let found = if !self.unread_text().starts_with("!=") && self.take_sign("!") {
            let of = self.read_unary()?;
            ExpressionNode::new(at, ExpressionKind::Not(Box::new(of)))
        } else if self.take_sign("-") {
            let of = self.read_unary()?;
            ExpressionNode::new(at, ExpressionKind::Negative(Box::new(of)))
        } else {
            let value = self.read_value()?;
            // What stands in the brackets of a call behind it lies deeper as well.
            self.read_suffixes(value)
        };
        self.depth -= 1;
        found
    }

    /// Fields, places and calls behind a value.
    fn read_suffixes(&mut self, mut value: ExpressionNode) -> Result<ExpressionNode, String> {
        loop {
            self.skip_blanks();
            let kind = if self.unread_text().starts_with('.') {
                self.at += 1;
                self.skip_blanks();
                let at = self.at;
                let name = self
                    .read_name()
                    .ok_or_else(|| format!("a name is missing {}", self.describe_place()))?;
                let of = Box::new(value);
                let kind = match self.take_sign("(") {
                    true => ExpressionKind::Method(of, name, self.read_items(")")?),
                    false => ExpressionKind::Field(of, name),
                };
                value = ExpressionNode::new(at, kind)?;
                continue;
            } else if self.take_sign("[") {
                let place = self.read_binary(0)?;
                self.require_sign("]")?;
                ExpressionKind::Index(Box::new(value), Box::new(place))
            } else {
                return Ok(value);
            };
            value = ExpressionNode::new(self.at, kind)?;
        }
    }

    fn read_name(&mut self) -> Option<String> {
        let rest = self.unread_text();
        let begins = |c: char| c.is_alphabetic() || c == '_' || c == '$';
        if !rest.starts_with(begins) {
            return None;
        }
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
        let name = &rest[..end.unwrap_or(rest.len())];
        self.at += name.len();
        Some(name.to_owned())
    }

    fn read_items(&mut self, close: &str) -> Result<Vec<ExpressionNode>, String> {
        let mut items = Vec::new();
        while !self.take_sign(close) {
            if !items.is_empty() {
                self.require_sign(",")?;
                if self.take_sign(close) {
                    break;
                }
            }
            items.push(self.read_binary(0)?);
        }
        Ok(items)
    }

    fn read_value(&mut self) -> Result<ExpressionNode, String> {
        let at = self.at;
        let kind = match self.unread_text().chars().next() {
            Some('(') => {
                self.at += 1;
                let inner = self.read_binary(0)?;
                self.require_sign(")")?;
                return Ok(ExpressionNode { at, ..inner });
            }
            Some('[') => {
                self.at += 1;
                ExpressionKind::List(self.read_items("]")?)
            }
            Some('{') => self.read_object()?,
            Some(quote @ ('"' | '\'')) => ExpressionKind::Text(self.read_quoted_text(quote)?),
            Some('/') => self.read_pattern()?,
            Some(digit) if digit.is_ascii_digit() => ExpressionKind::Number(self.read_number()?),
            _ => {
                let Some(name) = self.read_name() else { return Err(self.describe_unexpected()) };
                match name.as_str() {
                    "true" => ExpressionKind::Bool(true),
                    "false" => ExpressionKind::Bool(false),
                    "null" => ExpressionKind::Null,
                    _ if self.take_sign("(") => ExpressionKind::Call(name, self.read_items(")")?),
                    _ => ExpressionKind::Name(name),
                }
            }
        };
        ExpressionNode::new(at, kind)
    }

    fn read_object(&mut self) -> Result<ExpressionKind, String> {
        self.at += 1;
        let mut fields = Vec::new();
        while !self.take_sign("}") {
            if !fields.is_empty() {
                self.require_sign(",")?;
            }
            self.skip_blanks();
            let name = match self.unread_text().chars().next() {
                Some(quote @ ('"' | '\'')) => self.read_quoted_text(quote)?,
                _ => self.read_name().ok_or_else(|| self.describe_unexpected())?,
            };
            self.require_sign(":")?;
            fields.push((name, self.read_binary(0)?));
        }
        Ok(ExpressionKind::Object(fields))
    }

    fn read_quoted_text(&mut self, quote: char) -> Result<String, String> {
        let start = self.describe_place();
        self.at += 1;
        let mut text = String::new();
        let mut letters = self.unread_text().char_indices();
        while let Some((offset, letter)) = letters.next() {
            match letter {
                '\\' => match letters.next().map(|(_, next)| next) {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some(next) => text.push(next),
                    None => break,
                },
                letter if letter == quote => {
                    self.at += offset + 1;
                    return Ok(text);
                }
                letter => text.push(letter),
            }
        }
        Err(format!("the text that begins {start} is not closed"))
    }

    fn read_pattern(&mut self) -> Result<ExpressionKind, String> {
        let start = self.describe_place();
        let rest = &self.unread_text()[1..];
        let mut escaped = false;
        let mut class = false;
        let end = rest.char_indices().find(|(_, letter)| {
            let closes = *letter == '/' && !escaped && !class;
            class = if escaped { class } else { *letter == '[' || (class && *letter != ']') };
            escaped = *letter == '\\' && !escaped;
            closes
        });
        let Some((end, _)) = end else {
            return Err(format!("the pattern that begins {start} is not closed"));
        };
        let source = rest[..end].to_owned();
        self.at += end + 2;
        let flags: String =
            self.unread_text().chars().take_while(char::is_ascii_lowercase).collect();
        self.at += flags.len();
        Ok(ExpressionKind::Pattern { source, flags })
    }

    fn read_number(&mut self) -> Result<f64, String> {
        let rest = self.unread_text();
        let digits =
            |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let mut end = digits(rest);
        if let Some(fraction) = rest[end..].strip_prefix('.')
            && digits(fraction) > 0
        {
            end += 1 + digits(fraction);
        }
        let text = &rest[..end];
        self.at += end;
        text.parse().map_err(|_| format!("{text} is no number"))
    }
}
