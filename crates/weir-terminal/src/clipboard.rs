//! Reads the clipboard of this machine for the terminal interface (F1), by the programs that are
//! made for it: a picture, else words. Both ends of the link use it, since with `--attach` too the
//! clipboard is here. Each program is called with its arguments, never through a shell; it is found
//! in absolute folders of PATH alone, and bounded in time and in what it prints.
//!
//! Not here: which program is asked what (`readers`), what becomes of it (`weir-tui`).

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use weir_core::document::DocumentRequest;
use weir_engine::attach::FILE_BYTES_MAX;
use weir_engine::ports::DocumentReaders;
use weir_engine::sniff;
use weir_tui::link::{ClipboardContent, CommandTicket, UiUpdate};

mod readers;
#[cfg(test)]
mod tests;

use readers::{ClipboardReader, KindListing, PictureEncoding};
use weir_install::environment::ProcessEnvironment;
use weir_install::wiring;

/// How long reading may take, all programs together. Whoever holds the clipboard makes the picture
/// only now.
const TIME: Duration = Duration::from_secs(10);
/// Most bytes of a list of kinds.
const KINDS_BYTES_MAX: u64 = 64 << 10;
/// What of a program's complaint is told, in characters.
const SAID_CHARACTERS_MAX: usize = 200;
/// Bytes of it that are read; more is passed over.
const SAID_BYTES_MAX: u64 = 4 << 10;

/// How it goes on without a clipboard.
const ELSE: &str = "save the picture as a file and name it with @";

/// The clipboard of this machine.
#[derive(Clone)]
pub(super) struct SystemClipboard {
    environment: Arc<ProcessEnvironment>,
    is_mac: bool,
    time: Duration,
}

// What is in the environment is nobody's business.
impl fmt::Debug for SystemClipboard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clipboard").finish_non_exhaustive()
    }
}

/// What was found without a picture.
#[derive(Default)]
struct ClipboardFindings {
    /// Whoever has words, and the arguments that give them.
    text: Option<(PathBuf, &'static ClipboardReader)>,
    /// A kind of picture that no model takes.
    odd: Option<String>,
    /// What programs said that gave nothing.
    said: Vec<String>,
}

impl SystemClipboard {
    /// As the program's environment says.
    pub(super) fn from_environment(environment: &ProcessEnvironment) -> SystemClipboard {
        SystemClipboard {
            environment: Arc::new(environment.clone()),
            is_mac: cfg!(target_os = "macos"),
            time: TIME,
        }
    }

    /// What it holds, as news.
    pub(super) async fn clipboard_update(&self, ticket: CommandTicket) -> UiUpdate {
        let clip = match wiring::document_readers() {
            Ok(documents) => self.read_checked(documents.as_ref()).await,
            Err(error) => Err(format!("The clipboard cannot be read: {error:#}")),
        };
        match clip {
            Ok(clip) => UiUpdate::Clipboard { ticket, clip },
            Err(why) => UiUpdate::Failed { ticket, why },
        }
    }

    /// What it holds. `documents` looks at pictures before anybody believes that they are some.
    ///
    /// # Errors
    /// Nothing that can be put in, or nobody who could read it: a sentence that says what to do.
    async fn read_checked(
        &self,
        documents: &dyn DocumentReaders,
    ) -> Result<ClipboardContent, String> {
        let clip = match tokio::time::timeout(self.time, self.find_content()).await {
            Ok(clip) => clip?,
            Err(_) => {
                let seconds = self.time.as_secs_f32();
                return Err(format!(
                    "Reading the clipboard took more than {seconds} s and was ended: the program \
                     that holds it may hang. Copy again, or {ELSE}"
                ));
            }
        };
        if let ClipboardContent::Image { bytes, .. } = &clip {
            // A bound that no picture keeps: so all of it is decoded, and not only its head.
            let wish = DocumentRequest::Image { side_max: 1, bytes_max: FILE_BYTES_MAX };
            let seen = documents.inspect_document(wish, bytes.clone()).await;
            seen.map_err(|why| {
                format!(
                    "The picture in the clipboard cannot be used: {why}. Copy it again, or {ELSE}"
                )
            })?;
        }
        Ok(clip)
    }

    async fn find_content(&self) -> Result<ClipboardContent, String> {
        let set = |name: &str| self.environment.text_variable(name).is_some();
        let readers = readers::available_readers(self.is_mac, set);
        if readers.is_empty() {
            return Err(format!(
                "No clipboard can be reached: neither WAYLAND_DISPLAY nor DISPLAY is set (over SSH \
                 it is on the other machine); {ELSE}"
            ));
        }
        let mut found = ClipboardFindings::default();
        let mut is_any = false;
        for reader in &readers {
            let Some(program) = self.find_program(reader.program) else { continue };
            is_any = true;
            if let Some(clip) = self.ask_reader(reader, &program, &mut found).await? {
                return Ok(clip);
            }
        }
        if !is_any {
            return Err(readers::describe_missing_readers(&readers));
        }
        if let Some((program, reader)) = &found.text
            && let Some(text) = self.read_text(program, reader, &mut found.said).await?
        {
            return Ok(ClipboardContent::Text(text));
        }
        Err(found.describe_nothing_found())
    }

    /// The picture that a reader gives; what else it knows is noted.
    async fn ask_reader(
        &self,
        reader: &'static ClipboardReader,
        program: &Path,
        found: &mut ClipboardFindings,
    ) -> Result<Option<ClipboardContent>, String> {
        let kind = match reader.kinds {
            KindListing::Listed(arguments) => {
                let listed = self.run(program, arguments, KINDS_BYTES_MAX).await?;
                let Some(listed) = listed.or_said(&mut found.said) else { return Ok(None) };
                let listed = String::from_utf8_lossy(&listed);
                let listed: Vec<&str> = listed.lines().map(str::trim).collect();
                if found.text.is_none() && readers::has_text(&listed) {
                    found.text = Some((program.to_owned(), reader));
                }
                let kind = readers::best_picture_kind(&listed);
                if kind.is_none() {
                    let odd = listed.iter().find(|kind| kind.starts_with("image/"));
                    found.odd = found.odd.take().or(odd.map(|kind| (*kind).to_owned()));
                    return Ok(None);
                }
                kind
            }
            KindListing::Unlisted => {
                if found.text.is_none() && reader.text.is_some() {
                    found.text = Some((program.to_owned(), reader));
                }
                None
            }
        };
        let arguments = reader.picture_arguments(kind.unwrap_or_default());
        let most = match reader.form {
            PictureEncoding::Bytes => FILE_BYTES_MAX,
            PictureEncoding::AppleScript => FILE_BYTES_MAX * 2 + 64,
        };
        let ran = self.run(program, &arguments, most).await?;
        let Some(bytes) = ran.or_said(&mut found.said) else { return Ok(None) };
        let bytes = match reader.form {
            PictureEncoding::Bytes => bytes,
            PictureEncoding::AppleScript => match readers::apple_script_data(&bytes) {
                Some(bytes) => bytes,
                None => return Ok(None),
            },
        };
        if bytes.is_empty() {
            return Ok(None);
        }
        picture_clip(bytes).map(Some)
    }

    async fn read_text(
        &self,
        program: &Path,
        reader: &ClipboardReader,
        said: &mut Vec<String>,
    ) -> Result<Option<String>, String> {
        let Some((other, arguments)) = reader.text else { return Ok(None) };
        let program = match other {
            Some(other) => match self.find_program(other) {
                Some(program) => program,
                None => return Ok(None),
            },
            None => program.to_owned(),
        };
        let ran = self.run(&program, arguments, FILE_BYTES_MAX).await?;
        let Some(bytes) = ran.or_said(said).filter(|bytes| !bytes.is_empty()) else {
            return Ok(None);
        };
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err("The clipboard holds no picture, and its text is not UTF-8: paste it \
                           with your terminal's own key"
                .into()),
        }
    }

    /// Where a program is. Relative folders do not count: the one that is looked from may be
    /// anybody's.
    fn find_program(&self, name: &str) -> Option<PathBuf> {
        let path = self.environment.text_variable("PATH")?;
        let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
        let is_program = |path: &PathBuf| {
            let about = std::fs::metadata(path);
            about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
        };
        folders.map(|folder| folder.join(name)).find(is_program)
    }

    /// Runs a program to its end.
    ///
    /// # Errors
    /// It printed more than `most`.
    async fn run<S: AsRef<OsStr>>(
        &self,
        program: &Path,
        arguments: &[S],
        most: u64,
    ) -> Result<ReaderExit, String> {
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let failed = |why: std::io::Error| ReaderExit::Failed(format!("{name}: {why}"));
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(self.environment.all_variables()).current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Whoever gives up waiting drops it, and that ends it.
        command.kill_on_drop(true);
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => return Ok(failed(error)),
        };
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let (printed, said) = tokio::join!(all_of(out, most + 1), all_of(err, SAID_BYTES_MAX));
        if printed.len() as u64 > most {
            return Err(format!(
                "What the clipboard holds has more than {} MB, and no more can go along; make it \
                 smaller",
                FILE_BYTES_MAX >> 20
            ));
        }
        Ok(match child.wait().await {
            Ok(status) if status.success() => ReaderExit::Printed(printed),
            Ok(status) => {
                let said = String::from_utf8_lossy(&said);
                let line = said.lines().map(str::trim).find(|line| !line.is_empty());
                let line = line.map_or_else(|| status.to_string(), str::to_owned);
                let line: String = line.chars().take(SAID_CHARACTERS_MAX).collect();
                ReaderExit::Failed(format!("{name}: {line}"))
            }
            Err(error) => failed(error),
        })
    }
}

impl ClipboardFindings {
    /// That there is nothing to put in.
    fn describe_nothing_found(self) -> String {
        let said = match self.said.is_empty() {
            true => String::new(),
            false => format!(" ({})", self.said.join("; ")),
        };
        match self.odd {
            Some(kind) => format!(
                "The picture in the clipboard is {kind}, which no model takes; save it as PNG and \
                 name the file with @"
            ),
            None => format!("There is no picture in the clipboard{said}. Copy one, or {ELSE}"),
        }
    }
}

/// How a program ended.
enum ReaderExit {
    /// Well, having printed this.
    Printed(Vec<u8>),
    /// Otherwise: what it said.
    Failed(String),
}

impl ReaderExit {
    /// What it printed; what it said instead is noted.
    fn or_said(self, said: &mut Vec<String>) -> Option<Vec<u8>> {
        match self {
            ReaderExit::Printed(bytes) => Some(bytes),
            ReaderExit::Failed(why) => {
                said.push(why);
                None
            }
        }
    }
}

/// At most so many bytes of a pipe. One that breaks has ended.
async fn all_of(pipe: Option<impl AsyncRead + Unpin>, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        let _ = pipe.take(most).read_to_end(&mut bytes).await;
    }
    bytes
}

/// A picture by its content, whatever it was said to be.
fn picture_clip(bytes: Vec<u8>) -> Result<ClipboardContent, String> {
    let start = &bytes[..bytes.len().min(sniff::SNIFF_BYTES)];
    let ending = match sniff::detect_file_kind(start) {
        sniff::FileKind::Image("image/jpeg") => "jpg",
        sniff::FileKind::Image(kind) => kind.strip_prefix("image/").unwrap_or(kind),
        sniff::FileKind::Text | sniff::FileKind::Pdf | sniff::FileKind::Binary(_) => {
            return Err(format!(
                "The picture in the clipboard is broken: it is no PNG, JPEG, GIF or WebP. Copy it \
                 again, or {ELSE}"
            ));
        }
    };
    Ok(ClipboardContent::Image { ending: ending.to_owned(), bytes: bytes.into() })
}
