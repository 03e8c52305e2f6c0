//! Commands of the person's own (`!command`): run in their shell, in the folder of the session, as
//! themselves. No gate judges them: it is their own act. Each has a process group of its own, no
//! terminal, and ends with the face at the latest.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use weir_core::governance::filter::redact_text;
use weir_install::context::InstallationContext;
use weir_install::wiring;
use weir_tui::link::{CommandTicket, ShellNews, UiUpdate};

use super::context::LocalContext;

/// Commands at once.
const SHELLS_MAX: usize = 8;
/// Bytes of one command that are shown; it runs on, and the rest is left out.
const SHOWN_BYTES_MAX: usize = 4 << 20;
/// Characters from the beginning and from the end that the model would be told.
const TOLD_CHARS: usize = 8_000;
/// Characters that a byte of a secret has at most in any form in which it is known.
const FORM_CHARS_MAX: usize = 6;
/// Characters before a cut in which something secret of no known value may begin: a long key.
const MARGIN_CHARS_MIN: usize = 8_000;
/// Bytes read at once.
const READ_BYTES: usize = 16 << 10;
/// How long a command may take to end when it is asked to.
const TERM_WAIT: Duration = Duration::from_secs(1);
/// How long leaving waits for all of them.
const END_WAIT: Duration = Duration::from_secs(3);

/// The commands that run.
pub(super) struct ShellCommands {
    shell: OsString,
    running: Mutex<BTreeMap<CommandTicket, CancellationToken>>,
    tracker: TaskTracker,
}

impl ShellCommands {
    /// None yet. The shell is the person's own.
    ///
    /// # Errors
    /// None today; a shell that is not there is told by the command.
    pub(super) fn new(cx: &InstallationContext) -> anyhow::Result<ShellCommands> {
        let shell = cx.environment.text_variable("SHELL").unwrap_or("/bin/sh").into();
        Ok(ShellCommands { shell, running: Mutex::default(), tracker: TaskTracker::new() })
    }

    fn lock_running(&self) -> MutexGuard<'_, BTreeMap<CommandTicket, CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a command; what it prints and how it ends is told.
    pub(super) async fn run_command(
        &self,
        context: &Arc<LocalContext>,
        command: String,
        ticket: CommandTicket,
    ) {
        let shown = context.shown_session();
        let ends = context.leaving.child_token();
        let is_full = {
            let mut running = self.lock_running();
            let is_full = running.len() >= SHELLS_MAX;
            if !is_full {
                running.insert(ticket, ends.clone());
            }
            is_full
        };
        if is_full {
            let status = format!("not run: {SHELLS_MAX} commands run already");
            return send_shell_ended(context, ticket, not_run(status)).await;
        }
        let mut process = Command::new(&self.shell);
        process.arg("-c").arg(&command).current_dir(shown.workspace_folder());
        process.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        process.process_group(0).kill_on_drop(true);
        let child = match process.spawn() {
            Ok(child) => child,
            Err(error) => {
                self.lock_running().remove(&ticket);
                let shell = PathBuf::from(&self.shell);
                let status = format!("not run: {}: {error}", shell.display());
                return send_shell_ended(context, ticket, not_run(status)).await;
            }
        };
        let context = context.clone();
        let secrets = wiring::secret_texts(&shown.cx);
        self.tracker.spawn(async move {
            let mut told = PrintedOutput::new(secrets.as_deref().unwrap_or_default());
            let status = follow_output(&context, ticket, child, &ends, &mut told).await;
            context.shells.lock_running().remove(&ticket);
            let shown = match secrets {
                Ok(secrets) => {
                    let text = told.text_for_model(&secrets);
                    let whole = format!("$ {command}\n{text}\n({})", describe_exit(status));
                    redact_text(&whole, &secrets).into_owned()
                }
                // What cannot be cleaned is not given to the model.
                Err(error) => format!("(withheld: the secrets in it are not known: {error:#})"),
            };
            let ok = status.is_some_and(|status| status.success());
            let ended = ShellNews::Ended { status: describe_exit(status), ok, shown };
            send_shell_ended(&context, ticket, ended).await;
        });
    }

    /// Ends a command and everything that it started.
    pub(super) async fn end_command(&self, ticket: CommandTicket) {
        if let Some(ends) = self.lock_running().get(&ticket) {
            ends.cancel();
        }
    }

    /// Ends all of them and waits for that.
    pub(super) async fn end_all(&self) {
        self.lock_running().values().for_each(CancellationToken::cancel);
        self.tracker.close();
        let _ = tokio::time::timeout(END_WAIT, self.tracker.wait()).await;
    }
}

/// The end of a command that never began; `status`: why, in words.
fn not_run(status: String) -> ShellNews {
    ShellNews::Ended { status, ok: false, shown: String::new() }
}

async fn send_shell_ended(context: &LocalContext, ticket: CommandTicket, ended: ShellNews) {
    context.send_update(UiUpdate::Shell { ticket, news: ended }).await;
}

/// How a command ended, in words.
fn describe_exit(status: Option<ExitStatus>) -> String {
    let Some(status) = status else { return "it could not be waited for".into() };
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// Tells what a command prints until it and all that it started have closed their output, or it is
/// to end.
async fn follow_output(
    context: &LocalContext,
    ticket: CommandTicket,
    mut child: Child,
    ends: &CancellationToken,
    told: &mut PrintedOutput,
) -> Option<ExitStatus> {
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let (mut out, mut err) = (
        OutputPipe::reading_from(child.stdout.take()),
        OutputPipe::reading_from(child.stderr.take()),
    );
    let status = loop {
        let is_told = !out.is_open() && !err.is_open();
        let piece = tokio::select! {
            () = ends.cancelled() => break stop_process_group(&mut child, group).await,
            piece = out.next(), if out.is_open() => piece,
            piece = err.next(), if err.is_open() => piece,
            status = child.wait(), if is_told => break status.ok(),
        };
        if let Some(text) = piece.and_then(|text| told.take_piece(text)) {
            let news = ShellNews::Output(text);
            context.send_update(UiUpdate::Shell { ticket, news }).await;
        }
    };
    // Nothing of it stays behind.
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
    status
}

/// Asks the group to end, then makes it.
async fn stop_process_group(child: &mut Child, group: Option<Pid>) -> Option<ExitStatus> {
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::TERM);
        if let Ok(status) = tokio::time::timeout(TERM_WAIT, child.wait()).await {
            return status.ok();
        }
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.start_kill();
    child.wait().await.ok()
}

/// One of a command's outputs, read as text.
struct OutputPipe<R> {
    from: Option<R>,
    /// Bytes of a character that is not whole yet.
    rest: Vec<u8>,
}

impl<R: AsyncRead + Unpin> OutputPipe<R> {
    fn reading_from(from: Option<R>) -> OutputPipe<R> {
        OutputPipe { from, rest: Vec::new() }
    }

    fn is_open(&self) -> bool {
        self.from.is_some()
    }

    /// The next piece; `None`: it was closed. May be dropped and called again.
    async fn next(&mut self) -> Option<String> {
        let mut bytes = vec![0; READ_BYTES];
        let read = self.from.as_mut()?.read(&mut bytes).await;
        match read {
            Ok(count) if count > 0 => {
                self.rest.extend_from_slice(&bytes[..count]);
                Some(take_whole_characters(&mut self.rest))
            }
            Ok(_) | Err(_) => {
                self.from = None;
                let rest = std::mem::take(&mut self.rest);
                Some(String::from_utf8_lossy(&rest).into_owned()).filter(|text| !text.is_empty())
            }
        }
    }
}

/// Takes the whole characters out of `bytes`; what may be the beginning of one stays.
fn take_whole_characters(bytes: &mut Vec<u8>) -> String {
    let end = bytes.len() - incomplete_tail_bytes(bytes);
    let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
    bytes.drain(..end);
    text
}

/// How many bytes at the end are the beginning of a character.
fn incomplete_tail_bytes(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let byte = bytes[bytes.len() - back];
        let needs = match byte {
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF7 => 4,
            0x80..=0xBF => continue,
            _ => return 0,
        };
        return if needs > back { back } else { 0 };
    }
    0
}

/// What was printed: as much as is shown, and beginning and end for the model.
struct PrintedOutput {
    shown: usize,
    /// Characters that are kept at each end: more than are told, by `Told::secret_margin`.
    kept: usize,
    head: String,
    head_chars: usize,
    end: String,
    /// Characters so far.
    total: usize,
}

impl PrintedOutput {
    /// Nothing yet. What is cut off must not hide a part of one of `secrets`.
    fn new(secrets: &[String]) -> PrintedOutput {
        let longest = secrets.iter().map(String::len).max().unwrap_or_default();
        let margin = longest.saturating_mul(FORM_CHARS_MAX).max(MARGIN_CHARS_MIN);
        let (head, end) = (String::new(), String::new());
        PrintedOutput { shown: 0, kept: TOLD_CHARS + margin, head, head_chars: 0, end, total: 0 }
    }

    /// Takes a piece in; what of it is shown.
    fn take_piece(&mut self, text: String) -> Option<String> {
        let mut at = text.len();
        for (index, letter) in text.char_indices() {
            if self.head_chars == self.kept {
                at = index;
                break;
            }
            self.head.push(letter);
            self.head_chars += 1;
        }
        self.total += text.chars().count();
        self.end.push_str(&text[at..]);
        let over = self.end.chars().count().saturating_sub(self.kept);
        self.end.drain(..character_offset(&self.end, over));
        let before = self.shown;
        self.shown = self.shown.saturating_add(text.len());
        match before {
            before if before > SHOWN_BYTES_MAX => None,
            _ if self.shown > SHOWN_BYTES_MAX => {
                Some("\n[it prints more than is shown here]\n".into())
            }
            _ => Some(text),
        }
    }

    /// Characters at a cut that may be a part of something secret, which is not known as such there.
    fn secret_margin(&self) -> usize {
        self.kept - TOLD_CHARS
    }

    /// What the model would be told: cleaned first, cut then.
    fn text_for_model(&self, secrets: &[String]) -> String {
        if self.total <= self.kept * 2 {
            // Nothing was lost yet.
            let whole = format!("{}{}", self.head, self.end);
            let whole = redact_text(&whole, secrets);
            let chars = whole.chars().count();
            if chars <= TOLD_CHARS * 2 {
                return whole.into_owned();
            }
            let (head, end) = (
                character_offset(&whole, TOLD_CHARS),
                character_offset(&whole, chars - TOLD_CHARS),
            );
            return join_cut_text(&whole[..head], &whole[end..], chars);
        }
        let (head, end) = (redact_text(&self.head, secrets), redact_text(&self.end, secrets));
        let head_chars = head.chars().count().saturating_sub(self.secret_margin()).min(TOLD_CHARS);
        let end_chars = end.chars().count();
        let from = end_chars.saturating_sub(TOLD_CHARS).max(self.secret_margin());
        join_cut_text(
            &head[..character_offset(&head, head_chars)],
            &end[character_offset(&end, from)..],
            self.total,
        )
    }
}

/// Where in `text` the character of that number begins.
fn character_offset(text: &str, number: usize) -> usize {
    text.char_indices().nth(number).map_or(text.len(), |(index, _)| index)
}

/// Beginning and end of a text of `chars` characters.
fn join_cut_text(head: &str, end: &str, chars: usize) -> String {
    let left = chars.saturating_sub(head.chars().count() + end.chars().count());
    format!("{head}\n[… {left} characters left out …]\n{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f1_characters_that_come_in_pieces_are_put_together() {
        for (pieces, expected) in [
            (vec![&b"abc"[..]], "abc"),
            (vec!["ä".as_bytes()], "ä"),
            (vec![&"ä".as_bytes()[..1], &"ä".as_bytes()[1..]], "ä"),
            (vec![&"a🙂b".as_bytes()[..3], &"a🙂b".as_bytes()[3..]], "a🙂b"),
            (vec![&[0xFF, b'a'][..]], "\u{FFFD}a"),
            (vec![&[b'a', 0x80, 0x80, 0x80, 0x80][..]], "a\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"),
        ] {
            let mut rest = Vec::new();
            let mut text = String::new();
            for piece in &pieces {
                rest.extend_from_slice(piece);
                text.push_str(&take_whole_characters(&mut rest));
            }
            assert_eq!((text.as_str(), rest.len()), (expected, 0), "{pieces:?}");
        }
    }

    #[test]
    fn f1_what_the_model_would_be_told_is_bounded_and_says_so() {
        let mut told = PrintedOutput::new(&[]);
        assert_eq!(told.take_piece("short".into()).as_deref(), Some("short"));
        assert_eq!(told.text_for_model(&[]), "short");
        told.take_piece(" x".repeat(TOLD_CHARS * 3));
        told.take_piece("the end".into());
        let text = told.text_for_model(&[]);
        assert!(text.starts_with("short") && text.ends_with("the end"), "both ends are there");
        assert!(text.contains("characters left out") && text.chars().count() < TOLD_CHARS * 2 + 99);
        let much = "y".repeat(SHOWN_BYTES_MAX);
        assert!(told.take_piece(much).expect("a remark").contains("more than is shown"));
        assert_eq!(told.take_piece("z".into()), None);
    }

    #[test]
    fn z10_a_secret_at_a_cut_is_not_told_in_part() {
        let secret = "correct horse battery staple".to_owned();
        let secrets = [secret.clone()];
        // Across either cut, with little and with much between them, and where earlier ones make
        // the text shorter.
        for (before, after) in [(4, 5), (12, 0), (0, 12), (20, 20)] {
            for filler in [" y".repeat(TOLD_CHARS), " y".repeat(TOLD_CHARS * 4)] {
                for earlier in [0, 40] {
                    let margin = PrintedOutput::new(&secrets).secret_margin();
                    for edge in [TOLD_CHARS, TOLD_CHARS + margin] {
                        let mut told = PrintedOutput::new(&secrets);
                        let lead = format!("{secret} ").repeat(earlier);
                        let rest = edge - before - lead.chars().count();
                        told.take_piece(format!("{lead}{}{secret}{filler}", "a".repeat(rest)));
                        told.take_piece(format!("{secret}{}", "b".repeat(edge - after)));
                        let text = told.text_for_model(&secrets);
                        let part = ["corr", "orse", "batt", "stap", "aple"];
                        let leak = part.iter().find(|part| text.contains(*part));
                        assert_eq!(leak, None, "{before} {after} {earlier} {edge}");
                        assert!(text.contains("characters left out"));
                        assert!(text.chars().count() < TOLD_CHARS * 2 + 99);
                    }
                }
            }
        }
    }
}
