//! Charts as SVG, made on the server: no script, no foreign host, and the same to a screen reader as
//! to the eye. Colours come from the style sheet.

use maud::{Markup, html};

/// Width of a chart in its own units; the page scales it.
const WIDTH: f64 = 720.0;
/// Height of a chart of columns.
const HEIGHT: f64 = 160.0;
/// Room for the words below and above the columns.
const FOOT: f64 = 20.0;
const HEAD: f64 = 18.0;
/// Columns that are drawn; of a longer row the newest.
const COLUMNS_MAX: usize = 400;
/// Bars that are drawn; the table has all.
const BARS_MAX: usize = 20;
/// Height of a bar's row.
const ROW: f64 = 40.0;

/// One value.
pub(super) struct ChartBar {
    pub(super) name: String,
    pub(super) value: f64,
    /// In words.
    pub(super) told: String,
}

fn largest_value(bars: &[ChartBar]) -> f64 {
    bars.iter().map(|bar| bar.value).fold(0.0, f64::max)
}

fn number_text(value: f64) -> String {
    format!("{value:.2}")
}

/// The chart as one sentence.
fn describe_bars(bars: &[ChartBar]) -> String {
    let highest = bars.iter().max_by(|a, b| a.value.total_cmp(&b.value));
    match highest {
        Some(bar) if bar.value > 0.0 => {
            format!("{} values; the highest is {} with {}.", bars.len(), bar.name, bar.told)
        }
        _ => format!("{} values, all of them zero.", bars.len()),
    }
}

/// Values in a row, one column each.
pub(super) fn render_columns(id: &str, title: &str, bars: &[ChartBar]) -> Markup {
    let bars = &bars[bars.len().saturating_sub(COLUMNS_MAX)..];
    let top = largest_value(bars);
    let step = WIDTH / bars.len().max(1) as f64;
    let gap = (step * 0.2).min(4.0);
    let room = HEIGHT - FOOT - HEAD;
    let highest = bars.iter().max_by(|a, b| a.value.total_cmp(&b.value));
    html! {
        figure.chart {
            figcaption { (title) }
            svg viewBox={ "0 0 " (number_text(WIDTH)) " " (number_text(HEIGHT)) } role="img"
                aria-labelledby={ (id) "-t " (id) "-d" } {
                title id={ (id) "-t" } { (title) }
                desc id={ (id) "-d" } { (describe_bars(bars)) }
                line.axis x1="0" x2=(number_text(WIDTH)) y1=(number_text(HEIGHT - FOOT)) y2=(number_text(HEIGHT - FOOT)) {}
                @for (at, bar) in bars.iter().enumerate() {
                    @let height = if top > 0.0 { room * bar.value / top } else { 0.0 };
                    rect.column x=(number_text(at as f64 * step + gap / 2.0))
                        y=(number_text(HEIGHT - FOOT - height)) width=(number_text((step - gap).max(0.5)))
                        height=(number_text(height)) rx="1.5" { title { (bar.name) ": " (bar.told) } }
                }
                @if let Some(highest) = highest {
                    text x="0" y="12" { "highest: " (highest.told) }
                }
                @if let (Some(first), Some(last)) = (bars.first(), bars.last()) {
                    text x="0" y=(number_text(HEIGHT - 5.0)) { (first.name) }
                    text x=(number_text(WIDTH)) y=(number_text(HEIGHT - 5.0)) text-anchor="end" { (last.name) }
                }
            }
        }
    }
}

/// Values below each other, one bar each, the largest first as they come.
pub(super) fn render_bars(id: &str, title: &str, bars: &[ChartBar]) -> Markup {
    let shown = &bars[..bars.len().min(BARS_MAX)];
    let top = largest_value(shown);
    let height = ROW * shown.len() as f64;
    html! {
        figure.chart {
            figcaption { (title) }
            svg viewBox={ "0 0 " (number_text(WIDTH)) " " (number_text(height)) } role="img"
                aria-labelledby={ (id) "-t " (id) "-d" } {
                title id={ (id) "-t" } { (title) }
                desc id={ (id) "-d" } { (describe_bars(bars)) }
                @for (at, bar) in shown.iter().enumerate() {
                    @let width = if top > 0.0 { WIDTH * bar.value / top } else { 0.0 };
                    @let y = at as f64 * ROW;
                    text x="0" y=(number_text(y + 14.0)) { (bar.name) }
                    text x=(number_text(WIDTH)) y=(number_text(y + 14.0)) text-anchor="end" { (bar.told) }
                    rect.track x="0" y=(number_text(y + 20.0)) width=(number_text(WIDTH)) height="10" rx="3" {}
                    rect.column x="0" y=(number_text(y + 20.0)) width=(number_text(width)) height="10" rx="3" {}
                }
            }
            @if bars.len() > shown.len() {
                p.hint { (bars.len() - shown.len()) " more stand in the figures." }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s10_charts_say_what_they_show_and_escape_names() {
        let bar =
            |name: &str, value| ChartBar { name: name.into(), value, told: format!("{value}") };
        let text = render_columns("c", "Cost", &[bar("2026-01-01", 1.0), bar("2026-01-02", 4.0)]);
        let text = text.into_string();
        assert!(text.contains("2 values; the highest is 2026-01-02 with 4."), "{text}");
        assert_eq!(text.matches("<rect").count(), 2);
        let text = render_bars("m", "Model", &[bar("<script>", 0.0)]).into_string();
        assert!(text.contains("&lt;script&gt;") && !text.contains("<script>"), "{text}");
        assert!(!text.contains("NaN"), "{text}");
        assert!(!render_columns("e", "Empty", &[]).into_string().contains("NaN"));
    }
}
