//! The prompt's share of the model's window (P4): which sections give way, in which order, and how
//! that is said. Not here: condensing, which is about what was said.

use super::{RenderedSection, SectionName, Stability};

/// Bytes of a token, roughly, where no vendor has counted: for sizes that people are shown.
pub const BYTES_PER_TOKEN: usize = 4;
/// The same in halves, where too few tokens would be a mistake: 3.5 bytes.
const HALF_BYTES_PER_TOKEN: u64 = 7;

/// Per cent of the window that the system prompt may have.
const SYSTEM_SHARE: u64 = 30;
/// Per cent that the system prompt and the schemas of the tools may have together: what is said
/// needs room too.
const FIXED_SHARE: u64 = 50;
/// Per cent that the notes may have.
const NOTES_SHARE: u64 = 25;
/// What would keep fewer bytes than this is left out whole.
const PIECE_BYTES_MIN: usize = 160;

/// How a section gives way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CutStrategy {
    /// Its beginning.
    Head,
    /// Its beginning and its end: the nearest instructions stand last.
    Ends,
}

/// Sections of the system prompt that give way, the first one first. Profile, tools and security
/// are not among them: they always stay whole.
const SYSTEM_ORDER: &[(SectionName, CutStrategy, &str)] = &[
    (SectionName::Conventions, CutStrategy::Head, ""),
    (SectionName::Response, CutStrategy::Head, ""),
    (SectionName::Capabilities, CutStrategy::Head, ""),
    (SectionName::Routing, CutStrategy::Head, ""),
    (SectionName::Objective, CutStrategy::Head, ""),
];

/// Notes that give way, with where the model finds the rest. The time is never among them.
const NOTES_ORDER: &[(SectionName, CutStrategy, &str)] = &[
    (SectionName::Brain, CutStrategy::Head, ""),
    (SectionName::Recipes, CutStrategy::Head, ""),
    (SectionName::PluginSkills, CutStrategy::Head, "read_skill reads one by its name"),
    (SectionName::Skills, CutStrategy::Head, "read_skill reads one by its name"),
    (SectionName::OwnSkills, CutStrategy::Head, "read_skill reads one by its name"),
    (SectionName::Workspace, CutStrategy::Head, "list_files shows it"),
    (SectionName::Memory, CutStrategy::Head, "recall_memory finds the rest"),
    (SectionName::Instructions, CutStrategy::Ends, "read_file reads the files named here"),
    (SectionName::ActiveSkills, CutStrategy::Head, "read_skill shows a skill whole"),
];

/// Cuts what does not fit into a window of `window` tokens, beside tools with schemas of
/// `tool_bytes`. A `window` of 0 is not known and nothing is cut. Whatever is cut says so where it
/// stood.
pub fn fit_sections(
    mut sections: Vec<RenderedSection>,
    window: u64,
    tool_bytes: usize,
) -> Vec<RenderedSection> {
    if window == 0 {
        return sections;
    }
    let share = |percent: u64| {
        let half_bytes = window.saturating_mul(percent) / 100 * HALF_BYTES_PER_TOKEN;
        usize::try_from(half_bytes / 2).unwrap_or(usize::MAX)
    };
    let system = share(SYSTEM_SHARE).min(share(FIXED_SHARE).saturating_sub(tool_bytes));
    fit_one(&mut sections, Stability::Session, SYSTEM_ORDER, system);
    fit_one(&mut sections, Stability::Run, NOTES_ORDER, share(NOTES_SHARE));
    sections
}

fn fit_one(
    sections: &mut [RenderedSection],
    stability: Stability,
    order: &[(SectionName, CutStrategy, &str)],
    room: usize,
) {
    let mut all: usize =
        sections.iter().filter(|s| s.stability == stability).map(|s| s.text.len() + 2).sum();
    for (name, keeps, elsewhere) in order {
        if all <= room {
            return;
        }
        let Some(section) = sections.iter_mut().find(|section| section.name == *name) else {
            continue;
        };
        let whole = section.text.len();
        let shorter = shorten_section(section, all - room, *keeps, elsewhere);
        if shorter.len() < whole {
            all = all - whole + shorter.len();
            section.text = shorter;
        }
    }
}

/// The section with at least `over` bytes less, as far as it has them.
fn shorten_section(
    section: &RenderedSection,
    over: usize,
    keeps: CutStrategy,
    elsewhere: &str,
) -> String {
    let (name, whole) = (section.name, section.text.len());
    let elsewhere = if elsewhere.is_empty() { String::new() } else { format!("; {elsewhere}") };
    let notice = |kept: usize| match kept {
        0 => format!("[{name}: left out, the model's window is too small for it{elsewhere}]"),
        kept => format!(
            "[{name}: {kept} of {whole} bytes, the model's window is too small for more{elsewhere}]"
        ),
    };
    let room = whole.saturating_sub(over).saturating_sub(notice(whole).len() + 2);
    if room < PIECE_BYTES_MIN {
        return notice(0);
    }
    let text = section.text.as_str();
    match keeps {
        CutStrategy::Head => {
            let head = text_head(text, room);
            format!("{}\n{}", head.trim_end(), notice(head.len()))
        }
        CutStrategy::Ends => {
            let head = text_head(text, room / 2);
            let tail = text_tail(&text[head.len()..], room - head.len());
            let kept = notice(head.len() + tail.len());
            format!("{}\n{kept}\n{}", head.trim_end(), tail.trim_start())
        }
    }
}

/// At most `bytes` of the beginning, up to the end of a line or sentence where one is near.
fn text_head(text: &str, bytes: usize) -> &str {
    let piece = &text[..text.floor_char_boundary(bytes)];
    let line = piece.rfind('\n').map(|at| at + 1);
    let sentence = piece.rfind(". ").map(|at| at + 2);
    match line.max(sentence) {
        Some(end) if end >= bytes / 2 => &piece[..end],
        _ => piece,
    }
}

/// At most `bytes` of the end, from the beginning of a line where one is near.
fn text_tail(text: &str, bytes: usize) -> &str {
    let piece = &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..];
    match piece.find('\n') {
        Some(at) if at <= piece.len() / 2 => &piece[at + 1..],
        _ => piece,
    }
}

/// `text`, of the file or setting `name`, with at most `chars` characters; what is cut is said.
pub fn cut_text(text: &str, chars: usize, name: &str) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_string(),
        Some((at, _)) => {
            let all = text.chars().count();
            let kept = text_head(&text[..at], at).trim_end();
            let left = kept.chars().count();
            format!("{kept}\n[{name}: the first {left} of {all} characters; the rest was left out]")
        }
    }
}
