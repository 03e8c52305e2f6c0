//! Which marks count in a folder (Z1): its own, those of the project that it is a copy of, and that of a
//! history that other work trees share. Not here: how stores keep them.

use weir_core::ids::{SessionId, Timestamp};
use weir_engine::marks::{marks_in, unmark};
use weir_engine::ports::{Append, FileMark, SessionMeta, Store};
use weir_store::{MemoryStore, this_process};
use weir_test_kit::TestFolder;

struct World {
    folder: TestFolder,
    store: MemoryStore,
    sessions: usize,
}

impl World {
    /// A project with a work tree beside it and a copy in it, and a repository of its own in a folder.
    fn new() -> World {
        let folder = TestFolder::with_files(&[
            ("p/.git/HEAD", "ref: refs/heads/main\n"),
            ("p/.git/worktrees/wt/commondir", "../..\n"),
            ("p/.git/worktrees/fix/commondir", "../..\n"),
            ("p/src/a.rs", "x"),
            ("other/.git/HEAD", "ref: refs/heads/main\n"),
        ]);
        let world = World { folder, store: MemoryStore::new(), sessions: 0 };
        let own = |name: &str| format!("gitdir: {}/{name}\n", world.at("p/.git/worktrees"));
        world.folder.write("wt/.git", &own("wt"));
        world.folder.write("p/.weir/worktrees/fix/.git", &own("fix"));
        world
    }

    fn at(&self, path: &str) -> String {
        let top = self.folder.path().canonicalize().unwrap();
        top.join(path).display().to_string()
    }

    /// What a session that works in `folder` marks.
    async fn mark(&mut self, folder: &str, path: &str) {
        self.sessions += 1;
        let session = SessionId::new(format!("s{}", self.sessions));
        let lease = self.store.acquire_lease(&session, &this_process("test")).await.unwrap();
        let mark = FileMark {
            workspace: self.at(folder),
            path: path.to_owned(),
            origin: "evil.example".to_owned(),
            session: session.clone(),
            ts: Timestamp(1),
        };
        let meta = SessionMeta {
            id: session,
            workspace: self.at(folder),
            title: String::new(),
            model: String::new(),
            profile: String::new(),
            status: "idle".to_owned(),
            created: Timestamp(1),
            updated: Timestamp(1),
            facts: 0,
            parent: None,
        };
        let append = Append { marks: vec![mark], ..Append::of_records(lease, 0, Vec::new(), meta) };
        self.store.append(append).await.unwrap();
    }

    async fn marks(&self, folder: &str) -> Vec<String> {
        let marks = marks_in(&self.store, &self.at(folder)).await.unwrap();
        assert!(marks.iter().all(|mark| mark.workspace == self.at(folder)), "{marks:?}");
        marks.into_iter().map(|mark| mark.path).collect()
    }

    async fn unmark(&self, folder: &str, path: &str) -> bool {
        unmark(&self.store, &self.at(folder), path).await.unwrap()
    }
}

/// Folders in which git tells the history of the project, and how its mark is called there.
fn places(world: &World) -> [(&'static str, String); 5] {
    let whole = format!("{}/", world.at("p/.git"));
    [
        ("p", ".git/".to_owned()),
        ("p/src", whole.clone()),
        ("wt", whole.clone()),
        ("wt/deep", whole.clone()),
        ("p/.weir/worktrees/fix", whole),
    ]
}

#[tokio::test]
async fn z1_a_history_is_marked_in_all_work_trees_that_share_it() {
    // Marked by a session in the project, in the work tree, and in a copy.
    for writer in ["p", "wt", "p/.weir/worktrees/fix"] {
        let mut world = World::new();
        let name = if writer == "p" { ".git/".to_owned() } else { places(&world)[2].1.clone() };
        world.mark(writer, &name).await;
        for (folder, expected) in places(&world) {
            assert_eq!(world.marks(folder).await, [expected], "{writer}, {folder}");
        }
        assert_eq!(world.marks("other").await, Vec::<String>::new());
    }
}

#[tokio::test]
async fn z1_whoever_vouches_for_a_history_in_one_work_tree_does_so_for_all() {
    for (folder, names) in [
        ("p", vec![".git/"]),
        ("wt", vec![".git/", ".git", "WHOLE/", "WHOLE"]),
        ("p/.weir/worktrees/fix", vec![".git/", "WHOLE/"]),
        ("p/src", vec!["WHOLE/"]),
    ] {
        for name in names {
            let mut world = World::new();
            let whole = world.at("p/.git");
            world.mark("p", ".git/").await;
            world.mark("wt", &format!("{whole}/")).await;
            world.mark("other", ".git/").await;
            let name = name.replace("WHOLE", &whole);
            assert!(world.unmark(folder, &name).await, "{folder}: {name}");
            for (folder, _) in places(&world) {
                assert_eq!(world.marks(folder).await, Vec::<String>::new(), "{folder}: {name}");
            }
            assert!(!world.unmark(folder, &name).await, "{folder}: {name}: it is gone");
            assert_eq!(world.marks("other").await, [".git/"], "that is another history");
        }
    }
}

#[tokio::test]
async fn z1_files_of_one_work_tree_are_not_marked_in_another() {
    let mut world = World::new();
    world.mark("p", "a.md").await;
    world.mark("wt", "b.md").await;
    world.mark("p/.weir/worktrees/fix", "c.md").await;
    assert_eq!(world.marks("wt").await, ["b.md"]);
    assert_eq!(world.marks("p").await, [".weir/worktrees/fix/c.md", "a.md"]);
    // A copy was made of what the project has.
    assert_eq!(world.marks("p/.weir/worktrees/fix").await, ["a.md", "c.md"]);
    // It is vouched for where it is: the copy may hold another version.
    assert!(!world.unmark("p/.weir/worktrees/fix", "a.md").await);
    // What is marked with all that lies in it holds the history too.
    world.mark("p", "").await;
    assert!(world.marks("wt").await.contains(&format!("{}/", world.at("p/.git"))));
}
