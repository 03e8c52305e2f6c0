//! Command lines of named commands: an argument becomes exactly one word of the shell, whatever
//! stands in it. Not here: whether the line may run, which the gate says of the finished line.

use super::arguments::{ArgumentValues, ParamKind, ParamSpec, TemplatePiece, split_template};

/// Longest command line, in bytes.
pub const LINE_BYTES_MAX: usize = 64 * 1024;

/// What a template with arguments must not have: within these a quoted word is no longer a word.
const REFUSED: [&str; 10] = ["`", "$(", "${", "$'", "$\"", "<<", "((", "[[", "\n", "\r"];

/// Why arguments cannot safely be put into this template; `Ok`: they can.
///
/// # Errors
/// What is wrong, in words that follow the name of the field.
pub fn check_line_template(template: &str, params: &[ParamSpec]) -> Result<(), String> {
    let pieces = split_template(template)?;
    let has_arguments = pieces.iter().any(|piece| matches!(piece, TemplatePiece::Argument(_)));
    for piece in &pieces {
        if let TemplatePiece::Argument(name) = piece
            && !params.iter().any(|param| param.name == *name)
        {
            return Err(format!("has {{{{{name}}}}}, and no argument is called so"));
        }
    }
    let stands = |param: &ParamSpec| pieces.contains(&TemplatePiece::Argument(&param.name));
    if let Some(param) = params.iter().find(|param| !stands(param)) {
        return Err(format!("has no {{{{{0}}}}}, although {0} is an argument", param.name));
    }
    if !has_arguments {
        return Ok(());
    }
    if let Some(found) = REFUSED.iter().find(|found| template.contains(**found)) {
        return Err(format!(
            "has {found:?} beside an argument, where it could become more than one word; put it \
             into a script"
        ));
    }
    let mut walk = LineScanner::default();
    for piece in &pieces {
        match piece {
            TemplatePiece::Text(text) => text.chars().try_for_each(|c| walk.scan_character(c))?,
            TemplatePiece::Argument(name) => walk.place_argument(name)?,
        }
    }
    Ok(())
}

/// Where in a command line one is.
struct LineScanner {
    quote: Option<char>,
    escaped: bool,
    /// The word that stands here, so far, would be a program.
    of_program: bool,
    in_word: bool,
    /// The word so far sets a variable.
    assigns: bool,
    last: char,
}

impl Default for LineScanner {
    fn default() -> LineScanner {
        LineScanner {
            quote: None,
            escaped: false,
            of_program: true,
            in_word: false,
            assigns: false,
            last: ' ',
        }
    }
}

impl LineScanner {
    fn scan_character(&mut self, c: char) -> Result<(), String> {
        if self.escaped {
            self.escaped = false;
            self.in_word = true;
            self.last = c;
            return Ok(());
        }
        match (self.quote, c) {
            (Some(quote), c) if c == quote => self.quote = None,
            (Some('"') | None, '\\') => self.escaped = true,
            (Some(_), _) => (),
            (None, '\'' | '"') => {
                self.quote = Some(c);
                self.in_word = true;
            }
            (None, '#') if !self.in_word => {
                return Err("has a comment beside an argument; leave it out".into());
            }
            (None, ' ' | '\t') => self.end_word(),
            (None, '|' | '&' | ';' | '(' | ')' | '{' | '}' | '!') => {
                self.end_word();
                self.of_program = true;
            }
            (None, '<' | '>') => self.in_word = false,
            (None, '=') if self.in_word => self.assigns = true,
            (None, _) => self.in_word = true,
        }
        self.last = c;
        Ok(())
    }

    fn end_word(&mut self) {
        if self.in_word && !self.assigns {
            self.of_program = false;
        }
        self.in_word = false;
        self.assigns = false;
    }

    fn place_argument(&mut self, name: &str) -> Result<(), String> {
        let shown = format!("{{{{{name}}}}}");
        if self.quote.is_some() {
            return Err(format!(
                "has {shown} within quotes; leave them out, it is quoted by itself"
            ));
        }
        if self.escaped || self.last == '$' || self.last == '~' {
            return Err(format!("has {shown} behind {:?}", self.last));
        }
        if self.of_program && !self.assigns {
            return Err(format!("has {shown} where the program stands; name the program"));
        }
        self.in_word = true;
        self.last = 'x';
        Ok(())
    }
}

/// The command line of a template whose [`check_line_template`] found nothing.
///
/// # Errors
/// A sentence for the model: an argument cannot stand there.
pub fn fill_command_line(
    template: &str,
    params: &[ParamSpec],
    values: &ArgumentValues,
) -> Result<String, String> {
    let mut line = String::with_capacity(template.len());
    for piece in split_template(template)? {
        match piece {
            TemplatePiece::Text(text) => line.push_str(text),
            TemplatePiece::Argument(name) => {
                // What was left out stands for nothing.
                let Some(value) = values.get(name) else { continue };
                let begins = line.chars().next_back().is_none_or(char::is_whitespace);
                check_leading_dash(params, name, value, begins)?;
                line.push_str(&shell_quoted(value));
            }
        }
    }
    check_line_length(line)
}

/// The words that a script gets, in the order of its arguments.
///
/// # Errors
/// A sentence for the model: an argument cannot stand there.
pub fn script_words(params: &[ParamSpec], values: &ArgumentValues) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    for param in params {
        // Later words keep their places.
        let value = values.get(&param.name).map_or("", String::as_str);
        check_leading_dash(params, &param.name, value, true)?;
        words.push(value.to_owned());
    }
    while words.last().is_some_and(String::is_empty) {
        words.pop();
    }
    Ok(words)
}

/// A line of these words.
///
/// # Errors
/// It is too long.
pub fn of_words(words: &[String]) -> Result<String, String> {
    check_line_length(words.iter().map(|word| shell_quoted(word)).collect::<Vec<_>>().join(" "))
}

fn check_line_length(line: String) -> Result<String, String> {
    if line.len() > LINE_BYTES_MAX {
        return Err(format!(
            "the command line is longer than {LINE_BYTES_MAX} bytes; put what is long into a file \
             and name that"
        ));
    }
    Ok(line)
}

/// A text that a program would take for an option is none of the arguments that were meant.
fn check_leading_dash(
    params: &[ParamSpec],
    name: &str,
    value: &str,
    begins: bool,
) -> Result<(), String> {
    let param = params.iter().find(|param| param.name == name);
    let free = param.is_some_and(|param| {
        param.allow_dash || matches!(param.kind, ParamKind::Integer | ParamKind::Number)
    });
    if begins && !free && value.starts_with('-') {
        return Err(format!(
            "the argument {name} begins with -, which a program would take for an option; write \
             it another way, as ./{}",
            value.chars().filter(|c| !c.is_control()).take(40).collect::<String>()
        ));
    }
    Ok(())
}

/// A word that the shell takes as it is. Only what needs it is quoted, so that rules match what
/// people would write.
pub fn shell_quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn param(name: &str) -> ParamSpec {
        ParamSpec {
            name: name.into(),
            kind: ParamKind::String,
            required: true,
            description: String::new(),
            allow_dash: false,
        }
    }

    #[test]
    fn t11_an_argument_becomes_one_word_whatever_it_says() {
        let line = |value: &str| {
            let values = ArgumentValues::from([("a".into(), value.into())]);
            fill_command_line("git log --author={{a}} {{a}} | head", &[param("a")], &values)
        };
        for (value, word) in [
            ("main", "main"),
            ("; rm -rf ~", "'; rm -rf ~'"),
            ("$(id)", "'$(id)'"),
            ("`id`", "'`id`'"),
            ("a\nrm -rf .", "'a\nrm -rf .'"),
            ("it's", "'it'\\''s'"),
            ("' ; id ; '", "''\\'' ; id ; '\\'''"),
            ("", "''"),
            ("a=b", "'a=b'"),
            ("*", "'*'"),
            ("~root", "'~root'"),
            ("a && b", "'a && b'"),
            ("é", "'é'"),
        ] {
            let expected = format!("git log --author={word} {word} | head");
            assert_eq!(line(value), Ok(expected.clone()), "{value:?}");
            let parsed = crate::governance::shell::parse_command_line(&expected);
            let programs: Vec<String> = crate::governance::shell::command_reach(&parsed)
                .commands()
                .map(|w| w[0].text.clone())
                .collect();
            assert_eq!(programs, ["git", "head"], "{value:?}: no program was added");
        }
        assert!(line("--upload-pack=id").is_err_and(|why| why.contains("begins with -")));
        let long = "x y".repeat(LINE_BYTES_MAX / 4);
        assert!(line(&long).is_err());
    }

    #[test]
    fn t11_an_argument_that_was_left_out_stands_for_nothing() {
        assert_eq!(
            fill_command_line("ls {{a}}", &[param("a")], &ArgumentValues::new()),
            Ok("ls ".into())
        );
        let params = [param("a"), param("b"), param("c")];
        let values = ArgumentValues::from([("b".into(), "x".into())]);
        assert_eq!(script_words(&params, &values), Ok(vec![String::new(), "x".into()]));
    }

    #[test]
    fn t11_templates_in_which_a_word_could_become_more_are_refused() {
        let refused = |template: &str| check_line_template(template, &[param("a")]).err();
        for (template, part) in [
            ("echo \"{{a}}\"", "within quotes"),
            ("echo '{{a}}'", "within quotes"),
            ("echo \"x\\\"{{a}}\"", "within quotes"),
            ("sh -c \"ls {{a}}\"", "within quotes"),
            ("echo `{{a}}`", "\"`\""),
            ("echo $({{a}})", "$("),
            ("echo ${x:-{{a}}}", "${"),
            ("echo $(( {{a}} ))", "$("),
            ("[[ {{a}} -eq 1 ]]", "[["),
            ("cat <<{{a}}", "<<"),
            ("cat\n{{a}}", "\\n"),
            ("echo \\{{a}}", "behind"),
            ("echo ${{a}}", "${"),
            ("ls ~{{a}}", "behind"),
            ("{{a}} x", "where the program stands"),
            ("ls | {{a}}", "where the program stands"),
            ("ls; {{a}}", "where the program stands"),
            ("X=1 {{a}}", "where the program stands"),
            ("ls # {{a}}", "comment"),
            ("ls {{b}} {{a}}", "no argument is called so"),
            ("ls", "although a is an argument"),
            ("ls {{a", "without"),
        ] {
            let why = refused(template).unwrap_or_default();
            assert!(why.contains(part), "{template}: {why:?}");
        }
        for fine in [
            "make {{a}}",
            "git log --grep={{a}} -n 3",
            "X=1 make {{a}}",
            "X={{a}} make",
            "grep -r {{a}} . | sort && echo 'done #1'",
            "echo $HOME {{a}} > out.txt",
        ] {
            assert_eq!(refused(fine), None, "{fine}");
        }
        assert_eq!(
            check_line_template("echo \"$(date)\" # free", &[]),
            Ok(()),
            "nothing is put in"
        );
    }
}
