//! Readers of images and PDFs: this program again, as a child that has nothing but the bytes (X5).
//!
//! Both ends stand here: who starts the child and what the child does. What is read and how is the
//! business of `weir-documents`, what confines of `weir-sandbox`.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::sync::Semaphore;
use weir_core::document::{DocumentError, DocumentRequest, DocumentResult};
use weir_engine::ports::DocumentReaders;
use weir_sandbox::ReaderLimits;

/// The hidden subcommand.
pub const DOCUMENT: &str = "__document";

/// Memory and processor time of a reader: an image of 50 million pixels and its copy fit, and a PDF
/// of a thousand pages.
const LIMITS: ReaderLimits = ReaderLimits { memory_bytes: 1 << 30, cpu_seconds: 25 };
/// Wall time of a reader.
const TIME: Duration = Duration::from_secs(40);
/// Longest answer, in bytes.
const ANSWER_BYTES_MAX: u64 = 96 << 20;
/// Readers at once: each may take [`LIMITS`].
const READERS_MAX: usize = 2;
/// Exit status of a reader that could not confine itself.
const NOT_CONFINED: i32 = 2;

const SIGABRT: i32 = 6;
const SIGKILL: i32 = 9;
const SIGXCPU: i32 = 24;

/// Reads in a child process.
pub struct ChildDocuments {
    program: PathBuf,
    arguments: Vec<OsString>,
    time: Duration,
    places: Semaphore,
}

impl ChildDocuments {
    /// Children that are this program.
    ///
    /// # Errors
    /// Nobody knows where this program is.
    pub fn new() -> io::Result<ChildDocuments> {
        Ok(ChildDocuments::with_program(std::env::current_exe()?, vec![DOCUMENT.into()], TIME))
    }

    fn with_program(program: PathBuf, arguments: Vec<OsString>, time: Duration) -> ChildDocuments {
        ChildDocuments { program, arguments, time, places: Semaphore::new(READERS_MAX) }
    }

    async fn ask_reader(
        &self,
        wish: &DocumentRequest,
        bytes: &[u8],
    ) -> io::Result<Result<DocumentResult, DocumentError>> {
        let _place = self.places.acquire().await.map_err(io::Error::other)?;
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let mut head = Vec::new();
        weir_documents::write_question(&mut head, wish, &[])?;
        if let Some(mut input) = child.stdin.take() {
            // A child that ended before it read all says by its status why.
            let asked = async {
                input.write_all(&head).await?;
                input.write_all(bytes).await
            };
            let _ = asked.await;
        }
        let mut answer = Vec::new();
        if let Some(output) = child.stdout.take() {
            output.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).await?;
        }
        let status = child.wait().await?;
        Ok(weir_documents::read_answer(&mut answer.as_slice())
            .unwrap_or_else(|_| Err(describe_reader_exit(status))))
    }
}

#[async_trait]
impl DocumentReaders for ChildDocuments {
    async fn inspect_document(
        &self,
        wish: DocumentRequest,
        bytes: Arc<[u8]>,
    ) -> Result<DocumentResult, DocumentError> {
        match tokio::time::timeout(self.time, self.ask_reader(&wish, &bytes)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => {
                Err(DocumentError::Failed { why: format!("its reader cannot be started: {error}") })
            }
            Err(_) => {
                let seconds = self.time.as_secs();
                Err(DocumentError::TooLarge {
                    why: format!("reading it takes more than {seconds} s"),
                })
            }
        }
    }
}

/// Why a reader ended without an answer.
fn describe_reader_exit(status: ExitStatus) -> DocumentError {
    let too_large = |why: String| DocumentError::TooLarge { why };
    match (status.code(), status.signal()) {
        (Some(NOT_CONFINED), _) => DocumentError::Failed {
            why: "this system cannot confine its reader (seccomp is needed), and unconfined it is \
                  not read"
                .into(),
        },
        (_, Some(SIGABRT)) => too_large(format!(
            "reading it takes more than {} MB of memory",
            LIMITS.memory_bytes >> 20
        )),
        (_, Some(SIGKILL | SIGXCPU)) => {
            too_large(format!("reading it takes more than {} s", LIMITS.cpu_seconds))
        }
        _ => DocumentError::Broken { why: "its reader gave up on what is in it".into() },
    }
}

/// The child. Call it before anything else in `main`, when the first argument is [`DOCUMENT`]: it
/// must have one thread.
pub fn document_main() -> ExitCode {
    let served = weir_documents::serve_question(
        &mut io::stdin().lock(),
        &mut io::stdout().lock(),
        || weir_sandbox::limit_reader(LIMITS),
        || weir_sandbox::confine_reader(LIMITS),
    );
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(script: &str, time: Duration) -> Result<DocumentResult, DocumentError> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let arguments = vec!["-c".into(), script.into()];
        let documents = ChildDocuments::with_program("/bin/sh".into(), arguments, time);
        runtime
            .block_on(documents.inspect_document(DocumentRequest::Pdf, Arc::from(vec![0; 1 << 20])))
    }

    #[test]
    fn x5_every_end_of_a_reader_is_an_answer() {
        let long = Duration::from_secs(20);
        let told = |script: &str, time: Duration| match look(script, time) {
            Ok(seen) => panic!("{seen:?}"),
            Err(why) => why.to_string(),
        };
        let answer = "cat >/dev/null; echo '{\"result\":{\"Ok\":{\"seen\":\"pdf\",\"pages\":3}}}'";
        assert_eq!(look(answer, long), Ok(DocumentResult::Pdf { pages: 3 }));
        for (script, word) in [
            ("exit 0", "gave up"),
            ("exit 2", "cannot confine"),
            ("echo nonsense", "gave up"),
            ("kill -ABRT $$", "1024 MB of memory"),
            ("kill -KILL $$", "more than 25 s"),
            ("kill -SEGV $$", "gave up"),
        ] {
            let said = told(script, long);
            assert!(said.contains(word), "{script}: {said}");
        }
        let said = told("sleep 60", Duration::from_millis(300));
        assert!(said.contains("more than 0 s"), "{said}");
        let missing = ChildDocuments::with_program("/no/such/program".into(), Vec::new(), long);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let asked = missing.inspect_document(DocumentRequest::Pdf, Arc::from(&b"x"[..]));
        let said = runtime.expect("a runtime").block_on(asked).expect_err("nothing there");
        assert!(said.to_string().contains("cannot be started"), "{said}");
    }
}
