//! The report as a table for people, and lists place by place.

use std::io::{self, Write};

use super::Listed;
use super::circles::Circle;
use super::lines::LineCount;
use super::names::Repeated;
use super::summary::{NameFigures, Summary};

/// How wide running text may be.
const COLUMNS: usize = 100;

/// One row a line: place, thing, note.
pub(super) fn rows(out: &mut impl Write, rows: &[Listed]) -> io::Result<()> {
    for row in rows {
        write!(out, "{}:{}: {}", row.place.path, row.place.line, row.what)?;
        if row.note.is_empty() {
            writeln!(out)?;
        } else {
            writeln!(out, " ({})", row.note)?;
        }
    }
    writeln!(out, "{} in all", rows.len())
}

/// Everything.
pub(super) fn table(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    names(out, summary)?;
    tuples(out, summary)?;
    circles(out, summary)?;
    lines(out, summary)?;
    traits(out, summary)
}

fn names(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    writeln!(out, "Names")?;
    writeln!(out, "  {:<10} {:>6} {:>17} {:>17}", "", "all", "one word", "bare participle")?;
    name_row(out, "functions", &summary.functions)?;
    name_row(out, "types", &summary.types)?;
    let often = &summary.repeated_types;
    writeln!(out, "\n  {} names are borne by three types or more:", often.len())?;
    counted(out, often)?;
    writeln!(out, "\n  the most frequent one-word functions:")?;
    counted(out, &summary.functions.most_frequent)?;
    writeln!(out, "\n  the most frequent one-word types:")?;
    counted(out, &summary.types.most_frequent)
}

fn name_row(out: &mut impl Write, title: &str, figures: &NameFigures) -> io::Result<()> {
    let share = |count: usize, permille: usize| format!("{count}  {} %", tenths(permille));
    writeln!(
        out,
        "  {title:<10} {:>6} {:>17} {:>17}",
        figures.all,
        share(figures.one_word, figures.one_word_permille),
        share(figures.participles, figures.participles_permille),
    )
}

fn tenths(permille: usize) -> String {
    format!("{:>2}.{}", permille / 10, permille % 10)
}

fn counted(out: &mut impl Write, names: &[Repeated]) -> io::Result<()> {
    let words: Vec<String> =
        names.iter().map(|repeated| format!("{} {}", repeated.name, repeated.count)).collect();
    running(out, "    ", &words)
}

/// Words behind each other, parted by commas, broken where the line is full.
fn running(out: &mut impl Write, indent: &str, words: &[String]) -> io::Result<()> {
    let mut line = String::new();
    for (index, word) in words.iter().enumerate() {
        if !line.is_empty() && indent.len() + line.len() + word.len() + 2 > COLUMNS {
            writeln!(out, "{indent}{}", line.trim_end())?;
            line.clear();
        }
        line.push_str(word);
        line.push_str(if index + 1 < words.len() { ", " } else { "" });
    }
    if line.is_empty() { Ok(()) } else { writeln!(out, "{indent}{line}") }
}

fn tuples(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    let all: usize = summary.tuples.values().sum();
    writeln!(out, "\nParameters\n  {all} functions take a tuple:")?;
    let by_crate: Vec<String> =
        summary.tuples.iter().map(|(krate, count)| format!("{krate} {count}")).collect();
    running(out, "    ", &by_crate)
}

fn circles(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    writeln!(out, "\nCircles of modules")?;
    writeln!(out, "  {:<18} {:>7} {:>7}  circles", "", "modules", "arrows")?;
    for krate in &summary.circles {
        let sizes: Vec<String> =
            krate.circles.iter().map(|circle| circle.order.len().to_string()).collect();
        let sizes = if sizes.is_empty() { "none".to_owned() } else { sizes.join(", ") };
        writeln!(out, "  {:<18} {:>7} {:>7}  {sizes}", krate.krate, krate.modules, krate.arrows)?;
    }
    for krate in &summary.circles {
        for circle in &krate.circles {
            writeln!(out, "\n  {}, a circle of {}, in the order", krate.krate, circle.order.len())?;
            one_circle(out, circle)?;
        }
    }
    Ok(())
}

fn one_circle(out: &mut impl Write, circle: &Circle) -> io::Result<()> {
    running(out, "    ", &circle.order)?;
    let mentions: usize = circle.against.iter().map(|edge| edge.mentions).sum();
    writeln!(
        out,
        "    against it run {} of {} arrows, {mentions} mentions:",
        circle.against.len(),
        circle.edges.len()
    )?;
    for edge in &circle.against {
        let arrow = format!("{} -> {}", edge.from, edge.to);
        let place = format!("{}:{}", edge.place.path, edge.place.line);
        writeln!(out, "      {arrow:<28} {:>3}x  {place}  {}", edge.mentions, edge.named)?;
    }
    Ok(())
}

fn lines(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    writeln!(
        out,
        "\nLines (unit: tests in src; tests: tests/; other: benches, examples, build scripts)"
    )?;
    writeln!(
        out,
        "  {:<18} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "", "src", "code", "comment", "blank", "unit", "tests", "other"
    )?;
    for krate in summary.lines.iter().filter(|krate| !krate.development) {
        line_row(out, &krate.krate, &krate.count)?;
    }
    line_row(out, "product", &summary.product_lines)?;
    for krate in summary.lines.iter().filter(|krate| krate.development) {
        line_row(out, &krate.krate, &krate.count)?;
    }
    line_row(out, "development", &summary.development_lines)?;
    let all = summary.product_lines.all() + summary.development_lines.all();
    writeln!(out, "  {:<18} {all:>8}", "all Rust")
}

fn line_row(out: &mut impl Write, title: &str, count: &LineCount) -> io::Result<()> {
    writeln!(
        out,
        "  {title:<18} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        count.src(),
        count.code,
        count.comment,
        count.blank,
        count.unit_tests,
        count.integration_tests,
        count.beside
    )
}

fn traits(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    let lone = &summary.lone_traits;
    let bare = lone.iter().filter(|lone| lone.in_tests + lone.in_development == 0).count();
    writeln!(
        out,
        "\nTraits with one implementation: {}, {bare} of them with no other",
        lone.len()
    )?;
    writeln!(
        out,
        "  {:<18} {:<22} {:<22} {:>8} {:>12}",
        "", "trait", "for", "in tests", "development"
    )?;
    for lone in lone {
        writeln!(
            out,
            "  {:<18} {:<22} {:<22} {:>8} {:>12}",
            lone.krate, lone.name, lone.by, lone.in_tests, lone.in_development
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_text_is_broken_where_the_line_is_full() {
        let words: Vec<String> = (0..30).map(|index| format!("word{index}")).collect();
        let mut out = Vec::new();
        running(&mut out, "  ", &words).expect("a vector takes everything");
        let text = String::from_utf8(out).expect("it is text");
        assert!(text.lines().count() > 1);
        assert!(text.lines().all(|line| line.len() <= COLUMNS && !line.ends_with(' ')), "{text}");
        assert!(text.ends_with("word28, word29\n"), "{text}");
    }

    #[test]
    fn shares_have_one_digit_behind_the_point() {
        assert_eq!(tenths(731), "73.1");
        assert_eq!(tenths(5), " 0.5");
    }
}
