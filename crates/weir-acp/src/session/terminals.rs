//! Commands in terminals of the editor: what one prints, as a person sees it, goes into a file that a terminal
//! of the editor follows (`weir __tail`). The command runs where every command does; the terminal runs nothing
//! of it. Where the editor has no terminal, or fails to make one, the text is shown as before.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use weir_core::ids::{CallId, SessionId};
use weir_core::view::transcript::CallStage;
use weir_install::sessions::terminal_file_prefix;
use weir_tui::text::clean::plain_output;

use super::EditorSession;
use crate::follow::{FAILED, FOLLOW};
use crate::render::kind_of_effects;
use crate::rpc::EditorPeer;
use crate::wire::ToolKind;

/// Bytes of one command that its terminal shows.
const SHOWN_BYTES_MAX: usize = 8 << 20;
/// Terminals that may be open at once; the text of others is shown as text.
const TERMINALS_MAX: usize = 16;
/// How long an editor may take to make a terminal, or to see the end of one.
const ANSWER_WAIT: Duration = Duration::from_secs(5);
/// How long a session that is given back waits for the ends of its terminals.
const GIVE_BACK_WAIT: Duration = Duration::from_secs(2);
/// Bytes of a line that is not ended yet and is not shown yet.
const LINE_BYTES_MAX: usize = 16 << 10;
/// How old a file is that nobody writes and that nobody is about to read: one of a command that just ended
/// waits for its terminal.
const LEFT_AFTER: Duration = Duration::from_secs(60);
/// What the files of terminals end with.
const ENDING: &str = "out";

/// A terminal, or one that is being made.
struct LiveTerminal {
    file: File,
    path: PathBuf,
    bytes: usize,
    /// What was printed since the last end of a line: a sequence may go on in what comes next.
    rest: String,
    /// Its name; `None`: it is being made.
    name: Option<String>,
}

/// What came of making one.
pub(super) struct MadeTerminal {
    call: CallId,
    /// Its name; `None`: the editor did not make it.
    name: Option<String>,
    path: PathBuf,
}

/// The terminals of a session.
pub(super) struct LiveTerminals {
    /// Where their files are; `None`: there are no terminals.
    folder: Option<PathBuf>,
    /// What a killed program left was taken away.
    is_tidy: bool,
    open: BTreeMap<CallId, LiveTerminal>,
    made: JoinSet<MadeTerminal>,
    ending: JoinSet<()>,
}

impl LiveTerminals {
    /// Those whose files lie in `folder`; `None`: the editor has none.
    pub(super) fn new(folder: Option<PathBuf>) -> LiveTerminals {
        let (open, made, ending) = (BTreeMap::new(), JoinSet::new(), JoinSet::new());
        LiveTerminals { folder, is_tidy: false, open, made, ending }
    }

    /// The next that was made. Waits for ever where none is.
    pub(super) async fn next_made(&mut self) -> Option<MadeTerminal> {
        loop {
            match self.made.join_next().await {
                Some(Ok(made)) => return Some(made),
                // One that failed has said so in the log.
                Some(Err(_)) => (),
                None => std::future::pending().await,
            }
        }
    }
}

impl LiveTerminal {
    /// Makes its file, which is locked as long as it is written.
    fn create(folder: &Path, session: &SessionId, call: CallId) -> io::Result<LiveTerminal> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let prefix = terminal_file_prefix(session);
        let path = folder.join(format!("{prefix}{call}.{ENDING}"));
        remove_files(&path);
        let mut options = File::options();
        let file = options.append(true).create_new(true).mode(0o600).open(&path)?;
        file.lock()?;
        Ok(LiveTerminal { file, path, bytes: 0, rest: String::new(), name: None })
    }

    /// Shows what was printed, in whole lines: what a line begins and the next piece ends would be shown as
    /// garbage.
    fn show(&mut self, printed: &str) {
        self.rest.push_str(printed);
        let end = match self.rest.rfind('\n') {
            Some(at) => at + 1,
            None if self.rest.len() > LINE_BYTES_MAX => self.rest.len(),
            None => return,
        };
        let lines: String = self.rest.drain(..end).collect();
        self.write_plain(&lines);
    }

    /// Nothing more is printed: the last line is shown as it is.
    fn show_rest(&mut self) {
        let rest = std::mem::take(&mut self.rest);
        self.write_plain(&rest);
    }

    /// A terminal moves on a line by itself where a file only ends one; nothing else of what is printed
    /// steers it.
    fn write_plain(&mut self, printed: &str) {
        let shown = plain_output(printed);
        let room = SHOWN_BYTES_MAX - self.bytes;
        let shown = &shown[..shown.floor_char_boundary(room.min(shown.len()))];
        self.bytes += shown.len();
        // Where there is no room on the disk, the result still has it.
        let _ = self.file.write_all(shown.as_bytes());
    }
}

impl EditorSession {
    /// A call prints: where it is a command, its terminal shows it.
    pub(super) fn show_in_terminal(&mut self, subject: &str, text: &str) {
        let Ok(call) = subject.parse::<CallId>() else { return };
        if !self.terminals.open.contains_key(&call) {
            self.open_terminal(call);
        }
        if let Some(terminal) = self.terminals.open.get_mut(&call) {
            terminal.show(text);
        }
    }

    fn open_terminal(&mut self, call: CallId) {
        let Some(folder) = self.terminals.folder.clone() else { return };
        let is_command = self.render.transcript().find_call(call).is_some_and(|entry| {
            let effects = entry.judged.as_deref().map(|judged| &judged.inspection.effects);
            entry.stage == CallStage::Running
                && effects.and_then(kind_of_effects) == Some(ToolKind::Execute)
        });
        if !is_command || self.terminals.open.len() >= TERMINALS_MAX {
            return;
        }
        if !std::mem::replace(&mut self.terminals.is_tidy, true) {
            remove_leftovers(&folder);
        }
        // The program may have been replaced while it runs: then there is none at its path, and what is
        // printed is shown as text.
        let program = std::env::current_exe().ok().filter(|program| program.is_file());
        let (Some(program), Some(_)) = (program.as_deref().and_then(Path::to_str), folder.to_str())
        else {
            self.terminals.folder = None;
            return;
        };
        let Ok(terminal) = LiveTerminal::create(&folder, &self.id, call) else {
            self.terminals.folder = None;
            return;
        };
        let (path, peer) = (terminal.path.clone(), self.peer.clone());
        let params = json!({
            "sessionId": self.id.as_str(),
            "command": program,
            "args": [FOLLOW, path],
            "outputByteLimit": SHOWN_BYTES_MAX,
        });
        self.terminals.made.spawn(async move {
            let made = ask_editor(&peer, "terminal/create", &params).await;
            let name = made.and_then(|made| made["terminalId"].as_str().map(str::to_owned));
            MadeTerminal { call, name, path }
        });
        self.terminals.open.insert(call, terminal);
    }

    /// The editor made a terminal, or did not.
    pub(super) async fn attach_terminal(&mut self, made: MadeTerminal) {
        let Some(name) = made.name else {
            // It has shown what it can do.
            self.terminals.folder = None;
            self.terminals.open.remove(&made.call);
            return remove_files(&made.path);
        };
        match self.terminals.open.get_mut(&made.call) {
            Some(terminal) => {
                terminal.name = Some(name.clone());
                let update = self.render.attach_terminal(made.call, name);
                self.send_update(update).await;
            }
            // The command was quicker.
            None => self.release_terminal(&name, made.path),
        }
    }

    /// A call ended: its terminal sees the end of what it printed, and is given back.
    pub(super) fn end_terminal(&mut self, call: CallId) {
        let Some(mut terminal) = self.terminals.open.remove(&call) else { return };
        terminal.show_rest();
        let is_failed =
            self.render.transcript().find_call(call).is_some_and(|entry| {
                entry.finished.as_deref().is_some_and(|finished| !finished.ok)
            });
        if is_failed {
            let _ = File::create(terminal.path.with_extension(FAILED));
        }
        let (name, path) = (terminal.name, terminal.path);
        drop(terminal.file);
        if let Some(name) = name {
            self.release_terminal(&name, path);
        }
    }

    /// The session is given back: no terminal is made any more, and those that are open see the end of their
    /// files.
    pub(super) fn let_terminals_go(&mut self) {
        self.terminals.folder = None;
        for mut terminal in std::mem::take(&mut self.terminals.open).into_values() {
            terminal.show_rest();
            let LiveTerminal { file, path, name, .. } = terminal;
            drop(file);
            match name {
                Some(name) => self.release_terminal(&name, path),
                None => remove_files(&path),
            }
        }
    }

    /// Waits a moment until the editor has all its terminals back, those too that it was about to make.
    pub(super) async fn wait_for_terminal_ends(&mut self) {
        let ends = async {
            while let Some(made) = self.terminals.made.join_next().await {
                if let Ok(MadeTerminal { name: Some(name), path, .. }) = made {
                    self.release_terminal(&name, path);
                }
            }
            while self.terminals.ending.join_next().await.is_some() {}
        };
        // An editor that has gone answers nothing; the files of the others go with the session.
        let _ = tokio::time::timeout(GIVE_BACK_WAIT, ends).await;
    }

    fn release_terminal(&mut self, name: &str, path: PathBuf) {
        while self.terminals.ending.try_join_next().is_some() {}
        let peer = self.peer.clone();
        let params = json!({ "sessionId": self.id.as_str(), "terminalId": name });
        self.terminals.ending.spawn(async move {
            // What it shows is complete when its program has ended.
            ask_editor(&peer, "terminal/wait_for_exit", &params).await;
            ask_editor(&peer, "terminal/release", &params).await;
            remove_files(&path);
        });
    }
}

/// Asks the editor; `None`: it cannot, or takes too long.
async fn ask_editor(peer: &EditorPeer, method: &str, params: &Value) -> Option<Value> {
    peer.ask_within(ANSWER_WAIT, method, params).await?.ok()
}

/// They may be gone already.
fn remove_files(path: &Path) {
    let _ = std::fs::remove_file(path);
    let _ = std::fs::remove_file(path.with_extension(FAILED));
}

/// Takes away what a program left that was killed: files that nobody writes since some time.
fn remove_leftovers(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_left = || File::open(&path).is_ok_and(|file| file.try_lock().is_ok());
        let is_ours = path.extension().is_some_and(|ending| ending == ENDING);
        let changed = entry.metadata().and_then(|about| about.modified()).ok();
        let is_old = changed.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > LEFT_AFTER);
        // A terminal that still follows it reads on: the file is gone when it is closed.
        if is_ours && is_old && is_left() {
            remove_files(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use weir_test_kit::TestFolder;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let names = std::fs::read_dir(folder).expect("it is there").flatten();
        let mut names: Vec<String> =
            names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn make_old(path: &Path) {
        let file = File::options().append(true).open(path).expect("it is there");
        let old = SystemTime::now() - LEFT_AFTER * 2;
        file.set_modified(old).expect("its time can be set");
    }

    #[test]
    fn r1_what_a_killed_program_left_goes_and_what_is_written_or_just_ended_stays() {
        let files = [("s-c1.out", "left\n"), ("s-c1.failed", ""), ("other.txt", "x")];
        let folder = TestFolder::with_files(&files);
        make_old(&folder.at("s-c1.out"));
        let (session, folder) = (SessionId::new("s/../t"), folder.path());
        let mut one = LiveTerminal::create(folder, &session, CallId(2)).expect("there is room");
        let mut two = LiveTerminal::create(folder, &session, CallId(3)).expect("there is room");
        one.show("one\u{1b}]0;title\u{7}\n");
        two.show("two\n");
        make_old(&two.path);
        remove_leftovers(folder);
        assert_eq!(names(folder), ["other.txt", "st-c2.out", "st-c3.out"]);
        assert_eq!(std::fs::read_to_string(&one.path).expect("it is there"), "one\n");
        // Its terminal may not have begun to read it.
        drop((one, two));
        remove_leftovers(folder);
        assert_eq!(names(folder), ["other.txt", "st-c2.out"]);
    }

    #[test]
    fn r1_what_is_printed_in_pieces_is_shown_in_whole_lines() {
        let folder = TestFolder::with_files(&[]);
        let session = SessionId::new("s");
        let terminal = LiveTerminal::create(folder.path(), &session, CallId(1));
        let mut terminal = terminal.expect("there is room");
        for piece in ["\u{1b}[3", "1mred\u{1b}[0", "m\nla", "st"] {
            terminal.show(piece);
        }
        let shown = || std::fs::read_to_string(folder.at("s-c1.out")).expect("it is there");
        assert_eq!(shown(), "red\n");
        terminal.show_rest();
        assert_eq!(shown(), "red\nlast");
    }
}
