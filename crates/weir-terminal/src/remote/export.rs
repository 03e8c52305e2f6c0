//! The session as a file on this machine. Nothing that is there is ever overwritten.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use weir_core::ids::SessionId;
use weir_tui::link::NoticeTone;

use super::controller::{RequestContext, UiCommandOutcome};
use super::http::{self, ApiResult, RequestError};
use super::say::path_of;

/// Largest session that is taken along, in bytes.
const EXPORT_BYTES_MAX: u64 = 2 << 30;

/// Takes the session along.
pub(super) async fn export_session(
    context: &RequestContext,
    file: &str,
) -> ApiResult<UiCommandOutcome> {
    let session = context.require_session()?;
    let (name, format) = export_name_and_format(file, session).map_err(refused_export)?;
    let path = path_of(&context.here, &name);
    let parts = ["sessions", session.as_str(), "export"];
    let response = context.http.open_stream(&parts, &[("format", format)]).await?;
    let shown = path.display().to_string();
    let (part, mut file) = PartialFile::create_beside(&path).map_err(refused_export)?;
    let mut stream = response.bytes_stream();
    let mut bytes = 0_u64;
    while let Some(piece) = http::next(&mut stream).await? {
        bytes += piece.len() as u64;
        if bytes > EXPORT_BYTES_MAX {
            return Err(refused_export("it is too large to be taken along".into()));
        }
        let written = file.write_all(&piece);
        written.map_err(|error| refused_export(format!("{shown} cannot be written: {error}")))?;
    }
    file.sync_all()
        .map_err(|error| refused_export(format!("{shown} cannot be written: {error}")))?;
    part.take_place(&path).map_err(refused_export)?;
    Ok(UiCommandOutcome::from_notice(
        NoticeTone::Good,
        format!("the session is written to {shown} ({bytes} bytes)"),
    ))
}

/// A file on its way, beside the place where it will stand. Half of a session is none: it goes with
/// this, also where whoever wrote it was stopped.
struct PartialFile(PathBuf);

impl PartialFile {
    fn create_beside(path: &Path) -> Result<(PartialFile, File), String> {
        if path.symlink_metadata().is_ok() {
            return Err(is_there(path));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let beside = path.with_file_name(format!(".{name}.{}.part", uuid::Uuid::new_v4().simple()));
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside);
        let file =
            made.map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
        Ok((PartialFile(beside), file))
    }

    /// Gives it its name, if nothing has that meanwhile.
    fn take_place(self, path: &Path) -> Result<(), String> {
        std::fs::hard_link(&self.0, path).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => is_there(path),
            _ => format!("{} cannot be written: {error}", path.display()),
        })
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn is_there(path: &Path) -> String {
    format!("{} is there already; name another file", path.display())
}

fn refused_export(why: String) -> RequestError {
    RequestError::Refused { status: 400, code: String::new(), why }
}

/// The file's name and the form that its ending asks for; one is chosen where none is said.
fn export_name_and_format(
    file: &str,
    session: &SessionId,
) -> Result<(String, &'static str), String> {
    let file = file.trim();
    if file.is_empty() {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let id: String = session.as_str().chars().take(64).map(plain).collect();
        return Ok((format!("weir-{id}.md"), "markdown"));
    }
    let ending = Path::new(file).extension().and_then(|ending| ending.to_str());
    match ending.map(str::to_ascii_lowercase).as_deref() {
        Some("md" | "markdown") => Ok((file.to_owned(), "markdown")),
        Some("html" | "htm") => Ok((file.to_owned(), "html")),
        Some("jsonl") => Ok((file.to_owned(), "jsonl")),
        _ => Err(format!("{file:?} says no form: let it end with .md, .html or .jsonl")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_attach_a_file_says_its_form_by_its_ending() {
        let id = SessionId::new("../0190");
        for (file, expected) in [
            ("", Ok(("weir-___0190.md", "markdown"))),
            ("a.md", Ok(("a.md", "markdown"))),
            (" ~/b.HTML ", Ok(("~/b.HTML", "html"))),
            ("/tmp/c.jsonl", Ok(("/tmp/c.jsonl", "jsonl"))),
            ("d.pdf", Err(())),
            ("d", Err(())),
        ] {
            let found = export_name_and_format(file, &id);
            let found = found.as_ref().map(|(name, form)| (name.as_str(), *form)).map_err(|_| ());
            assert_eq!(found, expected, "{file}");
        }
    }

    #[test]
    fn f1_attach_an_export_is_whole_or_not_there_and_replaces_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.md");
        let names = || {
            let found = std::fs::read_dir(folder.path()).expect("readable");
            found.map(|one| one.expect("readable").file_name()).collect::<Vec<_>>()
        };
        let begin = || {
            let (part, mut file) = PartialFile::create_beside(&path).expect("begun");
            file.write_all(b"whole").expect("writable");
            part
        };
        drop(begin());
        assert!(names().is_empty(), "half of it goes: {:?}", names());
        let (first, second) = (begin(), begin());
        first.take_place(&path).expect("free");
        let why = second.take_place(&path).expect_err("taken");
        assert!(why.contains("is there already"), "{why}");
        assert!(PartialFile::create_beside(&path).is_err());
        assert_eq!(names(), ["a.md"]);
        assert_eq!(std::fs::read(&path).expect("readable"), b"whole");
    }
}
