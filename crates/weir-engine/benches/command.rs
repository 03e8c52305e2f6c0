//! What a command costs beyond running it, in a large workspace: 20,000 tracked files and 30,000 that git
//! ignores. All that is done before it and after it, the sandbox's own start aside (`weir-sandbox`).

use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use divan::Bencher;
use tempfile::TempDir;
use weir_engine::commands_course::CommandMeasurement;
use weir_engine::ports::{Baseline, ContentLocation, StoreError};
use weir_engine::workspace::{Workspace, WorkspaceOptions};

/// Files of a folder.
const FOLDER: usize = 20;
const TRACKED: usize = 20_000;
const IGNORED: usize = 30_000;

fn main() {
    divan::main();
}

/// A baseline in memory.
#[derive(Default)]
struct Kept {
    notes: Vec<String>,
    content: Vec<u8>,
}

impl Baseline for Kept {
    fn read_notes(&mut self) -> Result<Vec<String>, StoreError> {
        Ok(self.notes.clone())
    }
    fn append_note(&mut self, line: &str) -> Result<(), StoreError> {
        self.notes.push(line.to_owned());
        Ok(())
    }
    fn add_content(&mut self, content: &mut dyn Read) -> Result<ContentLocation, StoreError> {
        let at = self.content.len() as u64;
        let bytes = content.read_to_end(&mut self.content).expect("it is there") as u64;
        Ok(ContentLocation { at, bytes })
    }
    fn read(&mut self, piece: ContentLocation) -> Result<Vec<u8>, StoreError> {
        let from = usize::try_from(piece.at).expect("it was kept");
        let bytes = usize::try_from(piece.bytes).expect("it was kept");
        Ok(self.content[from..from + bytes].to_vec())
    }
    fn bytes(&self) -> u64 {
        self.content.len() as u64
    }
    fn sync(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
    fn clear(&mut self) -> Result<(), StoreError> {
        *self = Kept::default();
        Ok(())
    }
    fn remove(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}

fn fill(folder: &Path, files: usize) {
    for number in 0..files / FOLDER {
        let folder = folder.join(format!("part{}/area{number}", number % 10));
        std::fs::create_dir_all(&folder).expect("a folder");
        for file in 0..FOLDER {
            std::fs::write(folder.join(format!("file{file}.rs")), "fn x() {}\n").expect("a file");
        }
    }
}

fn course() -> (TempDir, CommandMeasurement) {
    let top = TempDir::new().expect("a folder");
    let root = top.path().join("ws");
    fill(&root.join("src"), TRACKED);
    fill(&root.join("node_modules"), IGNORED);
    std::fs::write(root.join(".gitignore"), "node_modules/\ntarget/\n*.log\n.env\n")
        .expect("a file");
    std::fs::write(root.join("AGENTS.md"), "Be careful.\n").expect("a file");
    for arguments in [["init", "-q", "."], ["add", "-A", "."]] {
        let git = Command::new("git").args(arguments).current_dir(&root).output();
        assert!(git.expect("git is there").status.success());
    }
    let options = WorkspaceOptions {
        root,
        extra_roots: Vec::new(),
        own_folders: vec![top.path().join("state")],
    };
    let workspace = Workspace::open(options).expect("a workspace");
    let mut course =
        CommandMeasurement::new(workspace.with_home(top.path()), Box::new(Kept::default()))
            .expect("a course");
    // A folder that changed within the last moment is read anew.
    std::thread::sleep(Duration::from_millis(100));
    course.prepare_command("true", "clean").expect("it may run");
    course.compare_after_command().expect("it is compared");
    (top, course)
}

#[divan::bench(args = [("true", "clean"), ("git status", "clean"), ("true", "foreign"), ("git status", "foreign")], sample_count = 20)]
fn around_a_command(bencher: Bencher<'_, '_>, (command, label): (&str, &str)) {
    let (_top, mut course) = course();
    bencher.bench_local(|| {
        course.prepare_command(command, label).expect("it may run");
        course.compare_after_command().expect("it is compared")
    });
}
