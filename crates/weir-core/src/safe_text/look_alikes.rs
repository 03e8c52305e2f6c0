//! Letters and signs that look like others, named in a sentence each (Z10). Not here: characters that
//! hide or turn a line round, which `safe_text` writes out.

use super::visible_text;

/// Most remarks about one text; then one says how many more there are.
const REMARKS_MAX: usize = 8;
/// Longest word that a remark repeats.
const WORD_CHARS_MAX: usize = 80;

/// What is deceptive in a command, an address or a path: one sentence each, empty when nothing is.
pub fn look_alikes(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut note = |remark: String| {
        if !found.contains(&remark) {
            found.push(remark);
        }
    };
    for word in words(text) {
        word_remark(word).into_iter().for_each(&mut note);
    }
    for c in text.chars() {
        if let Some(like) = sign_like(c) {
            let shown = if c.is_whitespace() { String::new() } else { format!("`{c}` ") };
            let code = u32::from(c);
            note(format!("{shown}(U+{code:04X}) looks like {like} and is another character"));
        }
    }
    let more = found.len().saturating_sub(REMARKS_MAX);
    found.truncate(REMARKS_MAX);
    if more > 0 {
        found.push(format!("{more} more such characters or words"));
    }
    found
}

/// Runs of letters, digits and what joins them in names and hosts.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let joins = |c: char| matches!(c, '.' | '-' | '_') || is_mark(c);
    text.split(move |c: char| !c.is_alphanumeric() && !joins(c))
        .map(|word| word.trim_matches(['.', '-', '_']))
        .filter(|word| !word.is_empty())
}

/// Marks that stand above or below the letter before them.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036F}' | '\u{0483}'..='\u{0489}' | '\u{1AB0}'..='\u{1AFF}'
        | '\u{1DC0}'..='\u{1DFF}' | '\u{20D0}'..='\u{20FF}' | '\u{FE20}'..='\u{FE2F}')
}

fn word_remark(word: &str) -> Option<String> {
    let mut scripts: Vec<&'static str> = Vec::new();
    for script in word.chars().filter_map(letter_script) {
        if !scripts.contains(&script) {
            scripts.push(script);
        }
    }
    let shown = shortened(word);
    if let [.., last] = scripts.as_slice()
        && scripts.len() > 1
    {
        let others = scripts[..scripts.len() - 1].join(", ");
        return Some(format!("`{shown}` mixes {others} and {last} letters"));
    }
    let only = *scripts.first()?;
    if is_styled(only) {
        return Some(format!("`{shown}` is written with {only} letters instead of plain ones"));
    }
    let mut letters = word.chars().filter(|c| c.is_alphabetic());
    if only != LATIN && letters.all(looks_latin) {
        return Some(format!("`{shown}` is written with {only} letters that look like Latin ones"));
    }
    let encoded = word.split('.').any(|label| label.to_ascii_lowercase().starts_with("xn--"));
    encoded.then(|| {
        format!("`{shown}` stands for a name in other letters, which may look like another name")
    })
}

fn shortened(word: &str) -> String {
    let mut shown: String = word.chars().take(WORD_CHARS_MAX).collect();
    if shown.len() < word.len() {
        shown.push('…');
    }
    visible_text(&shown)
}

const LATIN: &str = "Latin";
const FULL_WIDTH: &str = "full-width";
const MATHEMATICAL: &str = "mathematical";
const CIRCLED: &str = "circled";

/// Plain letters in another dress.
fn is_styled(script: &str) -> bool {
    [FULL_WIDTH, MATHEMATICAL, CIRCLED].contains(&script)
}

/// The alphabet of a letter, for those that have letters like another's.
fn letter_script(c: char) -> Option<&'static str> {
    Some(match c {
        'A'..='Z'
        | 'a'..='z'
        | '\u{00C0}'..='\u{00D6}'
        | '\u{00D8}'..='\u{00F6}'
        | '\u{00F8}'..='\u{02AF}'
        | '\u{1D00}'..='\u{1D25}'
        | '\u{1E00}'..='\u{1EFF}'
        | '\u{2C60}'..='\u{2C7F}'
        | '\u{A722}'..='\u{A787}'
        | '\u{AB30}'..='\u{AB5A}' => LATIN,
        '\u{03E2}'..='\u{03EF}' | '\u{2C80}'..='\u{2CF3}' => "Coptic",
        '\u{0370}'..='\u{0373}'
        | '\u{0376}'..='\u{037D}'
        | '\u{037F}'
        | '\u{0386}'
        | '\u{0388}'..='\u{03FF}'
        | '\u{1F00}'..='\u{1FFC}' => "Greek",
        '\u{0400}'..='\u{0482}'
        | '\u{048A}'..='\u{052F}'
        | '\u{1C80}'..='\u{1C88}'
        | '\u{A640}'..='\u{A69D}' => "Cyrillic",
        '\u{0531}'..='\u{0556}' | '\u{0560}'..='\u{0588}' => "Armenian",
        '\u{10A0}'..='\u{10FF}' | '\u{1C90}'..='\u{1CBF}' | '\u{2D00}'..='\u{2D2D}' => "Georgian",
        '\u{13A0}'..='\u{13FD}' | '\u{AB70}'..='\u{ABBF}' => "Cherokee",
        '\u{1401}'..='\u{167F}' => "Canadian Aboriginal",
        '\u{A4D0}'..='\u{A4F7}' => "Lisu",
        '\u{10400}'..='\u{1044F}' => "Deseret",
        '\u{FF21}'..='\u{FF3A}' | '\u{FF41}'..='\u{FF5A}' => FULL_WIDTH,
        '\u{2102}'..='\u{2149}' | '\u{1D400}'..='\u{1D7CB}' if c.is_alphabetic() => MATHEMATICAL,
        '\u{24B6}'..='\u{24E9}' | '\u{1F130}'..='\u{1F189}' => CIRCLED,
        _ => return None,
    })
}

/// Cyrillic, Greek and Armenian letters that most fonts draw like a Latin one.
fn looks_latin(c: char) -> bool {
    "аеорсухіјѕһԁԛԝӏьгАВЕКМНОРСТУХІЈЅԌԚԜ\
     ονυικραΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲϳ\
     օսոհցզՕՍԼ"
        .contains(c)
}

/// What a sign that is not the plain one looks like.
fn sign_like(c: char) -> Option<&'static str> {
    Some(match c {
        '\u{00A0}'
        | '\u{1680}'
        | '\u{2000}'..='\u{200A}'
        | '\u{202F}'
        | '\u{205F}'
        | '\u{3000}' => "a blank",
        '\u{2044}' | '\u{2215}' | '\u{29F8}' | '\u{2571}' | '\u{FF0F}' => "`/`",
        '\u{2216}' | '\u{29F5}' | '\u{29F9}' | '\u{FE68}' | '\u{FF3C}' => "`\\`",
        '\u{2024}' | '\u{06D4}' | '\u{A4F8}' | '\u{FE52}' | '\u{FF0E}' | '\u{FF61}'
        | '\u{3002}' => "`.`",
        '\u{02D0}' | '\u{0589}' | '\u{2236}' | '\u{A789}' | '\u{FE55}' | '\u{FF1A}' => "`:`",
        '\u{037E}' | '\u{FE54}' | '\u{FF1B}' => "`;`",
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{FE58}' | '\u{FE63}' | '\u{FF0D}' => "`-`",
        '\u{FF06}' | '\u{FE60}' => "`&`",
        '\u{01C0}' | '\u{2223}' | '\u{FF5C}' => "`|`",
        '\u{203A}' | '\u{FF1E}' | '\u{FE65}' => "`>`",
        '\u{2039}' | '\u{FF1C}' | '\u{FE64}' => "`<`",
        '\u{FF04}' | '\u{FE69}' => "`$`",
        '\u{2035}' | '\u{02CB}' | '\u{FF40}' => "a backquote",
        '\u{2018}' | '\u{2019}' | '\u{02BC}' | '\u{2032}' | '\u{FF07}' => "`'`",
        '\u{201C}' | '\u{201D}' | '\u{2033}' | '\u{FF02}' => "`\"`",
        '\u{204E}' | '\u{2217}' | '\u{FF0A}' => "`*`",
        '\u{FF20}' | '\u{FE6B}' => "`@`",
        '\u{FF1D}' | '\u{A78A}' => "`=`",
        '\u{02DC}' | '\u{223C}' | '\u{FF5E}' => "`~`",
        '\u{FF10}'..='\u{FF19}' | '\u{1D7CE}'..='\u{1D7FF}' => "a plain digit",
        _ => return None,
    })
}
