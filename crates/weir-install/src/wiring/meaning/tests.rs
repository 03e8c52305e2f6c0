//! The search over a real folder: what it finds, what it keeps, what it never shows.

use std::fs;
use std::time::Duration;

use weir_core::governance::rules::{RuleAction, RuleContext, RuleOrigin, RuleSet};
use weir_engine::ports::NoBounds;
use weir_engine::workspace::WorkspaceOptions;

use super::*;

struct Vault {
    folder: tempfile::TempDir,
    workspace: Arc<Workspace>,
}

fn open_workspace(folder: &Path) -> Arc<Workspace> {
    let options = WorkspaceOptions {
        root: folder.join("vault"),
        extra_roots: Vec::new(),
        own_folders: Vec::new(),
    };
    let workspace = Workspace::open(options).expect("a workspace");
    Arc::new(workspace.with_derived(&folder.join("state/derived")))
}

impl Vault {
    fn new() -> Vault {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("vault")).expect("a new folder");
        let workspace = open_workspace(folder.path());
        Vault { folder, workspace }
    }

    /// The same vault as another session or process has it.
    fn opened_again(self) -> Vault {
        let Vault { folder, workspace } = self;
        // As long as one is open, what another opens is what it has in memory.
        drop(workspace);
        Vault { workspace: open_workspace(folder.path()), folder }
    }

    /// The one file that the index is kept in.
    fn kept_index(&self) -> PathBuf {
        let derived = self.folder.path().join("state/derived");
        let own = fs::read_dir(derived).expect("a folder").flatten().next().expect("its own");
        own.path().join(INDEX_FILE)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join("vault").join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    async fn ask(&self, words: &str, folder: &str) -> MeaningAnswer {
        let search = WorkspaceMeaning::new(&self.folder.path().join("state"), None, Vec::new());
        let question = MeaningQuestion { words: words.into(), folder: folder.into(), limit: 5 };
        let cancel = CancellationToken::new();
        let none = ProgressSink::none();
        let scope = MeaningScope { progress: &none, cancel: &cancel, bounds: &NoBounds };
        let answer = search.search_workspace(&self.workspace, question, &scope).await;
        answer.expect("an answer")
    }

    async fn paths(&self, words: &str) -> Vec<String> {
        let answer = self.ask(words, "").await;
        answer.passages.into_iter().map(|passage| passage.path).collect()
    }
}

#[tokio::test]
async fn k6_a_passage_comes_with_its_place_and_stays_current() {
    let vault = Vault::new();
    vault.write("garden/tomato.md", "# Tomatoes\nIntro.\n## Water\nThey drink every evening.\n");
    vault.write("code/main.rs", "fn evening() {}");
    let answer = vault.ask("drinking in the evenings", "").await;
    let first = answer.passages.first().expect("a passage");
    assert_eq!((first.path.as_str(), first.line, first.last_line), ("garden/tomato.md", 4, 4));
    assert_eq!(first.headings, ["Tomatoes", "Water"]);
    assert_eq!(first.text, "They drink every evening.");
    assert_eq!((answer.files, answer.files_left), (1, 0));
    // What changes within the same second is seen too.
    vault.write("garden/tomato.md", "# Tomatoes\nIntro.\n## Water\nThey swim every morning.\n");
    let found = vault.ask("swimming", "").await.passages;
    assert_eq!(found.first().map(|one| one.text.as_str()), Some("They swim every morning."));
    assert_eq!(vault.ask("drink", "").await.passages, []);
    assert_eq!(vault.ask("swimming", "code").await.passages, []);
    fs::remove_file(vault.folder.path().join("vault/garden/tomato.md")).expect("it is there");
    assert_eq!(vault.paths("swimming").await, [""; 0]);
}

#[tokio::test]
async fn g6_what_is_ignored_is_in_no_answer_and_no_count() {
    let vault = Vault::new();
    vault.write("open.md", "The harbour is open.");
    vault.write("secret/plan.md", "The harbour plan.");
    assert_eq!(vault.ask("harbour", "").await.files, 2);
    vault.write(".weirignore", "secret/\n");
    let vault = vault.opened_again();
    let answer = vault.ask("harbour", "").await;
    assert_eq!(answer.files, 1);
    assert!(answer.passages.iter().all(|passage| passage.path == "open.md"), "{answer:?}");
}

#[tokio::test]
async fn g6_a_text_that_holds_a_private_key_is_in_no_answer() {
    let vault = Vault::new();
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKB";
    let key = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
    vault.write("open.md", "The harbour is open.");
    vault.write("notes.md", &format!("The harbour key.\n\n{key}"));
    assert_eq!(vault.paths("harbour").await, ["open.md"]);
}

/// An index of a version that left less out: the file is as it was when that one was made.
#[tokio::test]
async fn g6_what_was_indexed_before_it_counted_as_private_goes_with_its_version() {
    let vault = Vault::new();
    vault.write("open.md", "The harbour is open.");
    assert_eq!(vault.paths("harbour").await, ["open.md"]);
    let kept = vault.kept_index();
    let vault = vault.opened_again();
    let mut bytes = fs::read(&kept).expect("it is kept");
    bytes[..8].copy_from_slice(b"weirmi02");
    fs::write(&kept, &bytes).expect("writable");
    // Nothing is left that could be put into a new one.
    fs::remove_file(vault.folder.path().join("vault/open.md")).expect("it is there");
    assert_eq!(vault.paths("harbour").await, [""; 0]);
    let now = fs::read(&kept).expect("it is kept");
    assert!(MeaningIndex::from_bytes(&now).is_some(), "it is one of this version");
    let has_word = |bytes: &[u8]| bytes.windows(4).any(|word| word == b"harb");
    assert!(has_word(&bytes) && !has_word(&now), "and has none of the old words");
}

#[tokio::test]
async fn g6_no_passage_of_a_private_text_comes_from_an_index_that_has_it() {
    let vault = Vault::new();
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKB";
    let key = format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n");
    let text = format!("The harbour key.\n\n{key}");
    vault.write("notes.md", &text);
    let top = vault.workspace.resolve_tree(".", weir_core::tool::PathAccess::List);
    let options = weir_engine::workspace::WalkOptions {
        recursive: true,
        respect_gitignore: true,
        hidden: false,
        max_entries: 10,
    };
    let walk = vault.workspace.walk(&top, options).expect("a walk");
    let WorkspaceEntry { bytes, modified, changed_ns, .. } = walk.entries[0];
    // As one is that was made when nobody looked for keys.
    let mut index = MeaningIndex::new();
    let stamp = weir_meaning::SourceStamp { bytes, modified, changed_ns, digest: 1 };
    index.put_source("notes.md", stamp, &weir_meaning::SourceParts::of_text(&text));
    vault.workspace.replace_derived(INDEX_FILE, &index.to_bytes()).expect("written");
    assert_eq!(vault.ask("harbour", "").await.files, 1, "it is taken for current");
    assert_eq!(vault.paths("harbour").await, [""; 0]);
}

#[tokio::test]
async fn k6_what_the_rules_close_after_it_was_read_is_in_no_answer() {
    let vault = Vault::new();
    vault.write("open.md", "The harbour is open.");
    vault.write("private/plan.md", "The harbour plan.");
    assert_eq!(vault.paths("harbour").await.len(), 2);
    for action in [RuleAction::Deny, RuleAction::Ask] {
        let workspace = vault.workspace.root().to_string_lossy().into_owned();
        let mut rules = RuleSet::new(RuleContext { workspace, ..RuleContext::default() });
        let origin = RuleOrigin::new("test");
        let rule = rules.parse_rule(action, "Read(private/**)", origin).expect("a rule");
        rules.add(rule);
        vault.workspace.hold_rules(Arc::new(rules));
        assert_eq!(vault.paths("harbour").await, ["open.md"], "{action:?}");
    }
}

#[tokio::test]
async fn k6_the_index_lives_with_its_workspace_and_is_made_anew_where_it_is_damaged() {
    let vault = Vault::new();
    vault.write("a.md", "The harbour is open.");
    assert_eq!(vault.paths("harbour").await, ["a.md"]);
    let file = vault.kept_index();
    assert!(MeaningIndex::from_bytes(&fs::read(&file).expect("readable")).is_some());
    fs::write(&file, "nonsense").expect("writable");
    assert_eq!(vault.paths("harbour").await, ["a.md"], "from memory");
    let vault = vault.opened_again();
    assert_eq!(vault.paths("harbour").await, ["a.md"], "made anew");
    assert!(MeaningIndex::from_bytes(&fs::read(&file).expect("readable")).is_some());
}

#[tokio::test]
async fn k6_a_file_that_claims_its_old_time_is_read_again() {
    let vault = Vault::new();
    let old = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let write = |text: &str| {
        vault.write("a.md", text);
        let path = vault.folder.path().join("vault/a.md");
        let file = fs::OpenOptions::new().append(true).open(path).expect("a file");
        file.set_modified(old).expect("another time");
    };
    write("The harbour is open.");
    assert_eq!(vault.paths("harbour").await, ["a.md"]);
    // As long as before, and as old as before.
    write("The airport is open.");
    assert_eq!(vault.paths("airport").await, ["a.md"]);
    assert_eq!(vault.paths("harbour").await, [""; 0]);
}

#[tokio::test]
async fn k6_the_passage_that_is_shown_is_the_one_that_was_found() {
    let vault = Vault::new();
    let filler = "nothing to see in this part of the line ".repeat(60);
    vault.write("log.md", &format!("# Log\n{filler}the zebra crossed the river {filler}\n"));
    let answer = vault.ask("zebra", "").await;
    let first = answer.passages.first().expect("a passage");
    assert!(first.text.contains("the zebra crossed the river"), "{first:?}");
    assert!((first.line, first.last_line) == (2, 2) && first.column > 1, "{first:?}");
    // What was moved since it was read is shown where it is now; what was changed is not shown.
    let hit = |digest| MeaningHit {
        source: "log.md".into(),
        number: 0,
        digest,
        headings: Vec::new(),
        line: 9,
        last_line: 9,
        score: 0.0,
        scores: weir_meaning::HitScores::default(),
    };
    vault.write("log.md", "Before.\n# Log\nThe zebra sleeps.\n");
    let digest = split_passages("# Log\nThe zebra sleeps.").remove(0).text_digest();
    let search = WorkspaceSearch {
        workspace: vault.workspace.clone(),
        question: MeaningQuestion::default(),
        folder: PathBuf::new(),
        model: None,
        progress: ProgressSink::none(),
        cancel: CancellationToken::new(),
    };
    let shown = search.shown_passage(&mut CurrentPassages::new(), &hit(digest));
    assert_eq!(shown.map(|passage| passage.line), Some(3));
    assert_eq!(search.shown_passage(&mut CurrentPassages::new(), &hit(7)), None);
}

#[tokio::test]
async fn k6_what_is_gone_is_not_in_the_kept_index() {
    let vault = Vault::new();
    vault.write("open.md", "The harbour is open.");
    vault.write("diary.md", "My xylophone is broken.");
    assert_eq!(vault.paths("xylophone").await.first().map(String::as_str), Some("diary.md"));
    fs::remove_file(vault.folder.path().join("vault/diary.md")).expect("it is there");
    assert!(!vault.paths("xylophone").await.contains(&"diary.md".to_owned()));
    let bytes = fs::read(vault.kept_index()).expect("readable");
    for gone in ["diary", "xylophon"] {
        assert!(!bytes.windows(gone.len()).any(|part| part == gone.as_bytes()), "{gone}");
    }
}
