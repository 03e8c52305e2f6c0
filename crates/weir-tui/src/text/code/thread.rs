//! The thread on which code is read for its colours; it ends when nothing runs (Q21). Not here: what a word is
//! (`weir_highlight`), how it looks (`code`).
//!
//! The languages are five megabytes in tens of thousands of pieces, and an allocator gives back only the end of a
//! heap: on the face's own thread, what was made after them keeps them resident for as long as the face is open. A
//! thread has a heap of its own. So what is made there is freed there, what it answers is filled into memory of
//! whoever asked, and nothing outlives it but the names of scopes, which syntect keeps for good.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use weir_highlight::{CodeHighlighter, CodeSpan, LINE_BYTES_MAX};

/// What the thread does next.
type CodeWork = Box<dyn FnOnce() + Send>;

/// Work that waits while it does other work.
const WORK_WAITING_MAX: usize = 1;

/// The thread, once a block asked for it.
static THREAD: Mutex<Option<CodeThread>> = Mutex::new(None);

struct CodeThread {
    work: SyncSender<CodeWork>,
    thread: JoinHandle<()>,
}

/// Ends the thread and waits for that, for whoever shows no code for a while: the next block starts another one,
/// which takes some milliseconds.
pub(crate) fn end_code_thread() {
    let ended = lock_thread().take();
    if let Some(CodeThread { work, thread }) = ended {
        drop(work);
        // One that met a bug was told of by whoever hears of panics.
        let _ = thread.join();
    }
}

/// A block of code that is read line by line. A copy goes on by itself from where this one is.
#[derive(Debug, Clone)]
pub(super) struct CodeBlock {
    /// `None`: it was lost with its thread.
    code: Option<Arc<CodeHighlighter>>,
}

impl CodeBlock {
    /// A block in `language`, before its first line. `None`: it has no colours.
    pub(super) fn begin_block(language: &str) -> Option<CodeBlock> {
        if language.is_empty() {
            return None;
        }
        let language = language.to_owned();
        let code = ask_thread(move || CodeHighlighter::for_language(&language).map(Arc::new))??;
        Some(CodeBlock { code: Some(code) })
    }

    /// What `CodeHighlighter::next_line` says. `None`, too, where the thread met a bug.
    pub(super) fn next_line(&mut self, line: &str) -> Option<Vec<CodeSpan>> {
        let mut code = self.code.take()?;
        let text = line.to_owned();
        // Room for all parts of a line that is read, since none of them is empty.
        let mut spans: Vec<CodeSpan> = Vec::with_capacity(text.len().min(LINE_BYTES_MAX));
        let (code, spans) = ask_thread(move || {
            let read = Arc::make_mut(&mut code).next_line(&text);
            let is_read = read.is_some();
            spans.extend(read.into_iter().flatten());
            (code, is_read.then_some(spans))
        })?;
        self.code = Some(code);
        spans
    }
}

impl Drop for CodeBlock {
    fn drop(&mut self) {
        let is_last = |code: &Arc<CodeHighlighter>| Arc::strong_count(code) == 1;
        let Some(code) = self.code.take().filter(is_last) else { return };
        if let Some(CodeThread { work, .. }) = lock_thread().as_ref() {
            // Of one that met a bug it comes back and is freed here.
            let _ = work.send(Box::new(move || drop(code)));
        }
    }
}

fn lock_thread() -> MutexGuard<'static, Option<CodeThread>> {
    THREAD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `work` gives, done on the thread. `None`: there can be none, or it met a bug.
fn ask_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (answer, answered) = sync_channel(1);
    let work: CodeWork = Box::new(move || {
        // Whoever asked waits for it.
        let _ = answer.send(work());
    });
    let mut kept = lock_thread();
    if kept.is_none() {
        *kept = start_thread().ok();
    }
    if kept.as_ref()?.work.send(work).is_err() {
        // It met a bug before: the next block has another one.
        *kept = None;
    }
    drop(kept);
    answered.recv().ok()
}

fn start_thread() -> io::Result<CodeThread> {
    let (work, waiting) = sync_channel(WORK_WAITING_MAX);
    let thread = thread::Builder::new().name("weir-code".into());
    let thread = thread.spawn(move || do_code_work(&waiting))?;
    Ok(CodeThread { work, thread })
}

fn do_code_work(waiting: &Receiver<CodeWork>) {
    for work in waiting {
        work();
    }
    weir_highlight::forget_languages();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q21_code_is_read_on_the_thread_as_anywhere_also_where_that_ends_in_between() {
        let mut there = CodeBlock::begin_block("rust").expect("it is known");
        let mut here = CodeHighlighter::for_language("rust").expect("it is known");
        let long = "x".repeat(LINE_BYTES_MAX + 1);
        for line in
            ["/* a", " b */ fn main() {", "", "    let é = \"\\n\"; // c", long.as_str(), "}"]
        {
            assert_eq!(there.next_line(line), here.next_line(line), "{line}");
            end_code_thread();
        }
        assert!(["", "text", "no such"].iter().all(|name| CodeBlock::begin_block(name).is_none()));
    }
}
