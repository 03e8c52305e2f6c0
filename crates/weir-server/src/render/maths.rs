//! Formulas in TeX to MathML. What cannot be read is shown as it is written.

use pulldown_latex::config::{DisplayMode, RenderConfig};
use pulldown_latex::{Parser, Storage, push_mathml};

use super::markdown::escape_html;
use super::plain::visible_text;

/// Longest formula that is set, in bytes.
const FORMULA_MAX: usize = 4096;
/// Formulas of one text that are set.
const FORMULAS_MAX: usize = 500;
/// Parts of one formula.
const PARTS_MAX: usize = 4096;
/// Groups in groups: what reads them goes that deep too.
const NESTING_MAX: usize = 24;
/// Words that define words: a few lines of them stand for millions.
const DEFINING: &[&str] = &[
    "\\def",
    "\\gdef",
    "\\edef",
    "\\let",
    "\\futurelet",
    "\\newcommand",
    "\\renewcommand",
    "\\providecommand",
];

/// What is left for formulas.
pub(super) struct FormulaBudget {
    formulas: usize,
}

impl Default for FormulaBudget {
    fn default() -> FormulaBudget {
        FormulaBudget { formulas: FORMULAS_MAX }
    }
}

/// A formula in a line.
pub(super) fn write_inline_formula(out: &mut String, formula: &str, budget: &mut FormulaBudget) {
    match render_mathml(formula, DisplayMode::Inline, budget) {
        Some(html) => out.push_str(&html),
        None => write_source(out, formula),
    }
}

/// A formula by itself.
pub(super) fn write_display_formula(out: &mut String, formula: &str, budget: &mut FormulaBudget) {
    out.push_str("<span class=\"formula\" tabindex=\"0\">");
    match render_mathml(formula, DisplayMode::Block, budget) {
        Some(html) => out.push_str(&html),
        None => write_source(out, formula),
    }
    out.push_str("</span>");
}

fn write_source(out: &mut String, formula: &str) {
    out.push_str("<code class=\"formula\">");
    escape_html(out, &visible_text(formula));
    out.push_str("</code>");
}

fn render_mathml(
    formula: &str,
    display_mode: DisplayMode,
    budget: &mut FormulaBudget,
) -> Option<String> {
    budget.formulas = budget.formulas.checked_sub(1)?;
    if formula.len() > FORMULA_MAX || nesting_depth(formula) > NESTING_MAX {
        return None;
    }
    if DEFINING.iter().any(|word| formula.contains(word)) || has_odd_word(formula) {
        return None;
    }
    // What reads formulas is not hardened: a fault of it costs one formula, not the page.
    std::panic::catch_unwind(|| set_formula(formula, display_mode)).ok()?
}

fn set_formula(formula: &str, display_mode: DisplayMode) -> Option<String> {
    let storage = Storage::new();
    let mut events = Vec::new();
    for event in Parser::new(formula, &storage) {
        events.push(event.ok()?);
        if events.len() > PARTS_MAX {
            return None;
        }
    }
    let config = RenderConfig { display_mode, ..RenderConfig::default() };
    let mut html = String::new();
    let events = events.into_iter().map(Ok::<_, std::convert::Infallible>);
    push_mathml(&mut html, events, config).ok()?;
    Some(html)
}

/// How deep the groups of a formula go at most.
fn nesting_depth(formula: &str) -> usize {
    let (mut deep, mut deepest) = (0_usize, 0);
    for c in formula.chars() {
        match c {
            '{' => deep += 1,
            '}' => deep = deep.saturating_sub(1),
            _ => (),
        }
        deepest = deepest.max(deep);
    }
    deepest + formula.matches("\\left").count() + formula.matches("\\begin").count() / 2
}

/// A `\\` before anything but ASCII: the parser cuts such a sign in two.
fn has_odd_word(formula: &str) -> bool {
    let mut after = formula.split('\\').skip(1);
    after.any(|rest| rest.chars().next().is_some_and(|c| !c.is_ascii()))
}

#[cfg(test)]
mod tests {
    use super::{FormulaBudget, write_inline_formula};

    fn shown(formula: &str) -> String {
        let mut out = String::new();
        write_inline_formula(&mut out, formula, &mut FormulaBudget::default());
        out
    }

    #[test]
    fn s11_formulas_are_mathml_and_what_cannot_be_read_is_shown() {
        assert!(shown("\\frac{1}{2}").starts_with("<math"), "{}", shown("\\frac{1}{2}"));
        for bad in ["\\frac{", "\\nosuchword", "\\def\\a{\\a\\a}\\a", "x}", &"{".repeat(99)] {
            assert!(shown(bad).starts_with("<code"), "{bad}: {}", shown(bad));
        }
    }

    #[test]
    fn z10_a_sign_after_a_backslash_is_never_cut_in_two() {
        assert!(shown("\\\u{16f9d}").starts_with("<code"));
        assert!(shown("\\\u{e9}").starts_with("<code"));
    }
}
