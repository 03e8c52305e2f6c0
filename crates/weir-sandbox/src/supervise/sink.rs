//! Where a command's output goes, without the secrets of the person: a bounded file, head and tail in
//! memory, and progress.

use std::fs::File;
use std::io::{self, Write};

use weir_core::governance::filter::StreamRedactor;

use crate::output::HeadTail;
use crate::wire::CommandRequest;

/// Head and tail together never take more than this, whatever was asked.
const KEEP_BYTES_MAX: usize = 8 << 20;

/// Takes all output of one command.
pub(super) struct OutputSink {
    file: Option<File>,
    file_room: u64,
    veil: StreamRedactor,
    kept: HeadTail,
    progress: Option<File>,
    progress_skipped: u64,
    notes: Vec<String>,
}

impl OutputSink {
    pub(super) fn new(
        file: File,
        progress: Option<File>,
        request: &CommandRequest,
        secrets: &[String],
    ) -> OutputSink {
        OutputSink {
            file: Some(file),
            file_room: request.limits.output_file_bytes,
            veil: StreamRedactor::new(secrets),
            kept: HeadTail::new(request.keep_bytes.min(KEEP_BYTES_MAX)),
            progress,
            progress_skipped: 0,
            notes: Vec::new(),
        }
    }

    /// Takes the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let clean = self.veil.push(bytes);
        self.keep_bytes(&clean);
    }

    /// No more bytes come.
    pub(super) fn finish(&mut self) {
        let rest = self.veil.finish();
        self.keep_bytes(&rest);
    }

    fn keep_bytes(&mut self, bytes: &[u8]) {
        self.kept.push(bytes);
        self.push_file(bytes);
        self.push_progress(bytes);
    }

    /// Something to be said after the output.
    pub(super) fn add_note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Bytes so far.
    pub(super) fn total_bytes(&self) -> u64 {
        self.kept.total_bytes()
    }

    /// Text of the result.
    pub(super) fn render(&self) -> String {
        self.kept.render(&self.notes)
    }

    fn push_file(&mut self, bytes: &[u8]) {
        let Some(file) = &mut self.file else { return };
        let count = usize::try_from(self.file_room).unwrap_or(usize::MAX).min(bytes.len());
        self.file_room -= count as u64;
        if let Err(error) = file.write_all(&bytes[..count]) {
            // The command goes on: its result is kept in memory.
            self.notes.push(format!("its whole output could not be kept: {error}"));
            self.file = None;
        }
    }

    /// Progress is for the eye: what a slow reader does not take is skipped, and said so.
    fn push_progress(&mut self, bytes: &[u8]) {
        let Some(progress) = &mut self.progress else { return };
        if self.progress_skipped > 0 {
            let gap = format!("\n[... {} bytes not shown ...]\n", self.progress_skipped);
            // Atomic: a pipe takes so few bytes all or not at all.
            if progress.write(gap.as_bytes()).is_ok() {
                self.progress_skipped = 0;
            }
        }
        let mut rest = bytes;
        while !rest.is_empty() && self.progress_skipped == 0 {
            match progress.write(rest) {
                Ok(count) if count > 0 => rest = &rest[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Ok(_) | Err(_) => {
                    self.progress = None;
                    return;
                }
            }
        }
        self.progress_skipped += rest.len() as u64;
    }
}
