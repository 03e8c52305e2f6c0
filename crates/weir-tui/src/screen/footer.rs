//! The last line of the chat: model, profile, permission mode, context, cache, cost, branch,
//! server. Pure. What does not fit gives way, the least important first.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;

use super::SessionSettings;
use crate::app::PendingSettings;
use crate::text::theme::Theme;
use crate::text::wrap::{cut_line, text_width as cells};
use crate::words::{format_dollars, one_line, token_count_text};
use weir_core::view::transcript::SessionMeters;

/// Per cent of the window from which on the context is worth a look.
const CONTEXT_FULL: u8 = 80;

/// What the line is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FooterData<'a> {
    /// What holds.
    pub(crate) settings: &'a SessionSettings,
    /// What was wished for and does not hold yet.
    pub(crate) wanted: PendingSettings,
    /// Numbers.
    pub(crate) meters: &'a SessionMeters,
    /// The git branch.
    pub(crate) branch: Option<&'a str>,
    /// The server, when attached to one.
    pub(crate) server: Option<&'a str>,
}

/// A part: its rank (0 stays longest), its text and style.
type FooterPart = (u8, String, Style);

/// The line, at most `width` cells.
pub(crate) fn footer_line(footer: FooterData<'_>, width: usize, theme: &Theme) -> Line<'static> {
    let mut parts = footer_parts(footer, theme);
    while parts_width(&parts) > width && parts.len() > 1 {
        let least = parts.iter().enumerate().max_by_key(|(_, part)| part.0);
        let Some((n, _)) = least else { break };
        parts.remove(n);
    }
    let mut spans = Vec::new();
    for (n, (_, text, style)) in parts.into_iter().enumerate() {
        if n > 0 {
            spans.push(Span::styled(" · ", theme.quiet));
        }
        spans.push(Span::styled(text, style));
    }
    cut_line(Line::from(spans), width)
}

fn parts_width(parts: &[FooterPart]) -> usize {
    let gaps = parts.len().saturating_sub(1) * 3;
    gaps + parts.iter().map(|(_, text, _)| cells(text)).sum::<usize>()
}

fn footer_parts(footer: FooterData<'_>, theme: &Theme) -> Vec<FooterPart> {
    let FooterData { settings, wanted, meters, branch, server } = footer;
    let mode = match settings.permission {
        PermissionMode::Plan => theme.accent,
        PermissionMode::Ask => theme.good,
        PermissionMode::AutoEdit => theme.warn,
        PermissionMode::Full => theme.bad,
    };
    let quiet = theme.quiet;
    let holds = settings.permission;
    let permission = match wanted.permission.filter(|wanted| *wanted != holds) {
        Some(wanted) => format!("{} → {}", holds.as_str(), wanted.as_str()),
        None => holds.as_str().to_owned(),
    };
    let mut parts = vec![(0, permission, mode)];
    if !settings.model.is_empty() {
        parts.push((1, one_line(&settings.model), theme.text));
    }
    let holds = settings.thinking;
    match wanted.thinking.filter(|wanted| *wanted != holds) {
        Some(wanted) => {
            parts.push((6, format!("{} → {}", thinking_text(holds), thinking_text(wanted)), quiet))
        }
        None if holds == Thinking::Off => (),
        None => parts.push((6, thinking_text(holds).to_owned(), quiet)),
    }
    if !settings.profile.is_empty() {
        parts.push((5, one_line(&settings.profile), quiet));
    }
    match meters.context_share() {
        Some(share) if share >= CONTEXT_FULL => {
            parts.push((2, format!("context {share}%"), theme.warn));
        }
        Some(share) => parts.push((2, format!("context {share}%"), quiet)),
        None if meters.context > 0 => {
            parts.push((2, format!("context {}", token_count_text(meters.context)), quiet));
        }
        None => (),
    }
    if let Some(cache) = meters.cache {
        parts.push((7, format!("cache {cache}%"), quiet));
    }
    if meters.tokens > 0 {
        parts.push((3, cost_text(meters), quiet));
    }
    if let Some(branch) = branch {
        parts.push((4, format!("⎇ {}", one_line(branch)), quiet));
    }
    if let Some(server) = server {
        parts.push((3, format!("at {}", one_line(server)), theme.accent));
    }
    parts
}

/// How much the model thinks, in words.
fn thinking_text(thinking: Thinking) -> &'static str {
    match thinking {
        Thinking::Off => "answers at once",
        Thinking::Low => "thinks a little",
        Thinking::Medium => "thinks",
        Thinking::High => "thinks much",
    }
}

/// What it cost; what is not known is said to be so.
fn cost_text(meters: &SessionMeters) -> String {
    match (meters.cost_usd > 0.0, meters.cost_open) {
        (false, true) => format!("{} tokens, price unknown", token_count_text(meters.tokens)),
        (true, true) => format!("{}+", format_dollars(meters.cost_usd)),
        (_, false) => format_dollars(meters.cost_usd),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_the_footer_drops_the_least_important_first() {
        let settings = SessionSettings {
            model: "anthropic/claude".into(),
            profile: "coder".into(),
            permission: PermissionMode::AutoEdit,
            thinking: Thinking::High,
            ..SessionSettings::default()
        };
        let meters = SessionMeters {
            context: 45,
            window: 100,
            tokens: 1_234,
            cost_usd: 0.5,
            cost_open: true,
            cache: Some(75),
        };
        let footer = FooterData {
            settings: &settings,
            wanted: PendingSettings::default(),
            meters: &meters,
            branch: Some("main"),
            server: Some("weir.example"),
        };
        let all = "auto-edit · anthropic/claude · thinks much · coder · context 45% · cache 75% · \
                   $0.50+ · ⎇ main · at weir.example";
        let cases = [
            (200, all),
            (80, "auto-edit · anthropic/claude · context 45% · $0.50+ · ⎇ main · at weir.example"),
            (45, "auto-edit · anthropic/claude · context 45%"),
            (30, "auto-edit · anthropic/claude"),
            (12, "auto-edit"),
        ];
        for (width, expected) in cases {
            assert_eq!(
                footer_line(footer, width, &Theme::plain_theme()).to_string(),
                expected,
                "{width}"
            );
        }
        assert!(cells(&footer_line(footer, 4, &Theme::plain_theme()).to_string()) <= 9);
        // What is wished for and does not hold yet is told apart from what holds.
        let (permission, thinking) = (Some(PermissionMode::Plan), Some(Thinking::Off));
        let asked = FooterData { wanted: PendingSettings { permission, thinking }, ..footer };
        let text = footer_line(asked, 70, &Theme::plain_theme()).to_string();
        assert!(text.starts_with("auto-edit → plan · anthropic/claude · "), "{text}");
        let text = footer_line(asked, 200, &Theme::plain_theme()).to_string();
        assert!(text.contains(" · thinks much → answers at once · "), "{text}");
        let unknown = SessionMeters { tokens: 5, cost_open: true, ..SessionMeters::default() };
        assert_eq!(cost_text(&unknown), "5 tokens, price unknown");
    }
}
