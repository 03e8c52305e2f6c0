//! The session as a file: the same text as `weir sessions export`.

use std::path::Path;

use weir_engine::blocking::run_blocking;
use weir_install::failure::usage;
use weir_install::files;
use weir_install::sessions::{ExportFormat, export_session};

use super::context::LocalContext;
use super::say::path_of;

/// Characters of a session's name in that of its file.
const NAME_CHARS: usize = 8;

/// Writes it to a new file; what was done.
///
/// # Errors
/// There is a file of this name, it has no ending that says its form, or it cannot be written.
pub(super) async fn export_session_to_file(
    context: &LocalContext,
    name: &str,
) -> anyhow::Result<String> {
    let shown = context.shown_session();
    let id = shown.id.as_ref();
    let id = id.ok_or_else(|| usage("nothing was said yet: there is nothing to write"))?;
    let short: String = id.as_str().chars().take(NAME_CHARS).collect();
    let name = match name.trim() {
        "" => format!("weir-session-{short}.md"),
        name => name.to_owned(),
    };
    let format = format_of_name(&name)?;
    let path = path_of(&shown.cx, &name);
    let store = shown.cx.local_store()?;
    let exported = export_session(store.as_ref(), id, format, None).await?;
    for note in &exported.notes {
        shown.cx.notify(&format!("warning: {note}"));
    }
    let text = exported.text;
    let written = {
        let path = path.clone();
        run_blocking(move || files::create_file_once(&path, text.as_bytes(), 0o600))
    };
    match written.await?? {
        true => Ok(format!("written to {}", path.display())),
        false => Err(usage(format!(
            "{} is there already; choose another name or remove it first",
            path.display()
        ))),
    }
}

fn format_of_name(name: &str) -> anyhow::Result<ExportFormat> {
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
    match ending.map(str::to_ascii_lowercase).as_deref() {
        Some("md" | "markdown") => Ok(ExportFormat::Markdown),
        Some("html" | "htm") => Ok(ExportFormat::Html),
        Some("jsonl") => Ok(ExportFormat::Jsonl),
        _ => Err(usage(format!("{name:?} must end with .md, .html or .jsonl: that says its form"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_the_ending_says_the_form() {
        for (name, expected) in [
            ("a.md", Some(ExportFormat::Markdown)),
            ("~/x/A.HTML", Some(ExportFormat::Html)),
            ("a.b.jsonl", Some(ExportFormat::Jsonl)),
            ("a", None),
            ("a.txt", None),
            ("md", None),
        ] {
            assert_eq!(format_of_name(name).ok(), expected, "{name}");
        }
    }
}
