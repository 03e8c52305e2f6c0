//! In which of two places a key is, beside a keyring whose programs are scripts. Not here: how those are
//! spoken with (`keyring`), and a real keyring (`tests/outside/keyring.sh`).

use super::*;
use crate::keyring::forget_answers;

/// A configuration folder, and a keyring in the folder `ring` beside it: a file for each item.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Desk {
        let desk = Desk(tempfile::tempdir().expect("a folder"));
        for folder in ["config", "ring"] {
            std::fs::create_dir(desk.at(folder)).expect("a folder");
        }
        desk
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn dirs(&self) -> WeirFolders {
        WeirFolders {
            config: self.at("config"),
            state: self.at("state"),
            home: None,
            hidden: Vec::new(),
        }
    }

    fn keyring(&self) -> Keyring {
        let ring = self.at("ring").display().to_string();
        // store --label=X -- service weir account NAME folder F id ID; search and clear have no label.
        let tool = format!(
            "case $1 in store) [ ! -e {ring}.full ] || exit 1; cat >{ring}/$7.${{11}};;
             clear) [ -e {ring}.stuck ] || rm {ring}/$6.${{10}};;
             search) [ ! -f {ring}/$6.${{10}} ] || echo \"secret = $(cat {ring}/$6.${{10}})\";; esac"
        );
        let lock = format!(
            "touch {ring}.asked; [ -e {ring}.locked ] && S=true || S=false; echo variant boolean $S"
        );
        Keyring::of_scripts(self.0.path(), &tool, &lock)
    }

    /// The keys, read anew.
    fn keys(&self, store: KeyStore) -> ProviderKeys {
        let keyring = Ok(self.keyring());
        ProviderKeys::read_beside(&self.dirs(), keyring).expect("lists").with_store(store)
    }

    /// From now on the keyring is `locked`, `full` or `stuck`.
    fn begin(&self, state: &str) {
        std::fs::write(self.at(&format!("ring.{state}")), "").expect("a file");
        forget_answers(&self.keyring());
    }

    fn end(&self, state: &str) {
        std::fs::remove_file(self.at(&format!("ring.{state}"))).expect("it was so");
        forget_answers(&self.keyring());
    }

    /// The items of this name in the keyring.
    fn items(&self, name: &str) -> usize {
        let files = std::fs::read_dir(self.at("ring")).expect("there").flatten();
        let begins = format!("{name}.");
        files.filter(|file| file.file_name().to_string_lossy().starts_with(&begins)).count()
    }

    fn kept(&self, name: &str) -> Option<String> {
        self.keys(KeyStore::Auto).kept_key(name).map(|key| key.reveal().to_owned())
    }

    fn save(&self, store: KeyStore, name: &str, text: &str) -> anyhow::Result<KeyPlace> {
        self.keys(store).save_key(name, Secret::new(text))
    }

    fn file_has(&self, text: &str) -> bool {
        let texts = ["config/keys.toml", "config/keyring.toml"]
            .map(|name| std::fs::read_to_string(self.at(name)).unwrap_or_default());
        texts.iter().any(|file| file.contains(text))
    }
}

#[test]
fn r9_a_key_is_in_the_keyring_alone_and_is_read_again() {
    let desk = Desk::new();
    let place = desk.save(KeyStore::Auto, "a", "sk-1").expect("kept");
    assert_eq!(place, KeyPlace { source: KeySource::Keyring, notes: Vec::new() });
    assert!(desk.file_has("a = ") && !desk.file_has("sk-1"), "its name alone is in a file");
    assert_eq!(desk.kept("a").as_deref(), Some("sk-1"));
    assert_eq!(desk.keys(KeyStore::Auto).kept_source("a"), Some(KeySource::Keyring));
    // One that lay in the file moves.
    desk.save(KeyStore::File, "b", "sk-2").expect("kept");
    assert!(desk.file_has("sk-2"));
    desk.save(KeyStore::Auto, "b", "sk-3").expect("kept");
    assert!(!desk.file_has("sk-"), "in one place alone");
    // And back.
    let place = desk.save(KeyStore::File, "a", "sk-4").expect("kept");
    assert!(matches!(place.source, KeySource::File(_)) && place.notes.is_empty(), "{place}");
    assert_eq!((desk.items("a"), desk.kept("a").as_deref()), (0, Some("sk-4")));
    let removed = desk.keys(KeyStore::Auto).remove("b").expect("removed");
    assert_eq!(removed, Some(KeySource::Keyring));
    assert_eq!(desk.keys(KeyStore::Auto).remove("b").expect("nothing"), None);
    assert_eq!((desk.items("b"), desk.kept("b")), (0, None));
}

#[test]
fn r9_a_keyring_that_has_nothing_is_not_asked() {
    let desk = Desk::new();
    desk.save(KeyStore::File, "a", "sk-1").expect("kept");
    assert_eq!(desk.kept("a").as_deref(), Some("sk-1"));
    assert!(desk.keys(KeyStore::File).remove("a").expect("removed").is_some());
    assert!(!desk.at("ring.asked").exists() && !desk.at("config/keyring.toml").exists());
    desk.save(KeyStore::Auto, "a", "sk-1").expect("kept");
    assert!(desk.at("ring.asked").exists());
}

#[test]
fn r9_keys_of_the_keyring_are_kept_from_texts() {
    let desk = Desk::new();
    desk.save(KeyStore::Auto, "anthropic", "sk-ring-0123456789").expect("kept");
    let environment = ProcessEnvironment::of(&[("ANTHROPIC_API_KEY", "sk-env-0123456789")]);
    let keys = desk.keys(KeyStore::Auto);
    let secret = keys.secret_values(ModelCatalogue::built_in(), &environment);
    assert_eq!(secret, ["sk-env-0123456789", "sk-ring-0123456789"]);
    let file = keys.all_as_file().expect("one key");
    assert!(file.reveal().contains("anthropic = \"sk-ring-0123456789\""), "a backup has it");
}

#[test]
fn r9_z7_texts_are_cleaned_of_an_older_key_where_the_keyring_can_be_read() {
    let desk = Desk::new();
    desk.save(KeyStore::Auto, "a", "sk-older-0123456789").expect("kept");
    desk.begin("locked");
    desk.save(KeyStore::Auto, "a", "sk-newer-0123456789").expect("the file takes it");
    let secret = |keys: &ProviderKeys| {
        keys.secret_values(ModelCatalogue::built_in(), &ProcessEnvironment::of(&[]))
    };
    let locked = desk.keys(KeyStore::Auto);
    assert_eq!(secret(&locked), ["sk-newer-0123456789"]);
    assert!(locked.unread_outdated_in_keyring().contains("a"), "that is said");
    assert_eq!(locked.keyring_problem(), None, "no key that counts is missing");
    desk.end("locked");
    let open = desk.keys(KeyStore::Auto);
    assert_eq!(secret(&open), ["sk-newer-0123456789", "sk-older-0123456789"]);
    assert!(open.unread_outdated_in_keyring().is_empty());
    assert!(open.outdated_in_keyring().contains("a"));
    assert_eq!(open.kept_key("a").map(Secret::reveal), Some("sk-newer-0123456789"));
}

#[test]
fn r9_a_pipe_in_the_place_of_a_list_is_not_waited_for() {
    let desk = Desk::new();
    for name in ["keyring.toml", "keys.toml"] {
        let path = desk.at("config").join(name);
        let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo");
        assert!(made.success());
        let read = ProviderKeys::read_beside(&desk.dirs(), Err("there is none".into()));
        let why = read.expect_err("it is no file").to_string();
        assert!(why.contains(name), "{why}");
        std::fs::remove_file(&path).expect("it is there");
    }
}

#[test]
fn r9_a_locked_keyring_is_told_and_an_older_key_in_it_counts_no_more() {
    let desk = Desk::new();
    desk.save(KeyStore::Auto, "a", "sk-old").expect("kept");
    desk.begin("locked");
    let mut keys = desk.keys(KeyStore::Auto);
    assert!(keys.keyring_problem().is_some_and(|why| why.contains("locked")));
    assert_eq!(
        (keys.kept_key("a").is_none(), keys.unread_in_keyring().collect()),
        (true, vec!["a"])
    );
    let place = keys.save_key("a", Secret::new("sk-new")).expect("the file takes it");
    assert!(matches!(&place.source, KeySource::File(_)), "{place}");
    let told = place.to_string();
    assert!(told.contains("it is locked") && told.contains("older key for a"), "{told}");
    desk.end("locked");
    assert_eq!((desk.items("a"), desk.kept("a").as_deref()), (1, Some("sk-new")));
    // Also after the file's one is gone.
    desk.begin("locked");
    let why = desk.keys(KeyStore::Auto).remove("a").expect_err("the keyring still has one");
    assert!(why.to_string().contains("weir auth remove a"), "{why}");
    desk.end("locked");
    assert_eq!(desk.kept("a"), None);
    assert!(desk.keys(KeyStore::Auto).outdated_in_keyring().contains("a"));
    // It goes with the next change.
    desk.save(KeyStore::Auto, "b", "sk-b").expect("kept");
    assert_eq!((desk.items("a"), desk.items("b")), (0, 1));
    assert!(desk.keys(KeyStore::Auto).outdated_in_keyring().is_empty());
}

#[test]
fn r9_an_older_key_that_cannot_be_cleared_is_never_found_in_the_place_of_the_new_one() {
    let desk = Desk::new();
    desk.save(KeyStore::Auto, "a", "sk-old").expect("kept");
    desk.begin("stuck");
    let place = desk.save(KeyStore::Auto, "a", "sk-new").expect("kept");
    assert_eq!(place.source, KeySource::Keyring);
    assert!(place.to_string().contains("older key for a"), "{place}");
    assert_eq!((desk.items("a"), desk.kept("a").as_deref()), (2, Some("sk-new")));
    desk.end("stuck");
    let removed = desk.keys(KeyStore::Auto).remove("a").expect("both are cleared");
    assert_eq!((removed, desk.items("a")), (Some(KeySource::Keyring), 0));
}

#[test]
fn r9_a_removed_key_stays_removed_and_a_kept_one_stays_where_storing_another_fails() {
    let desk = Desk::new();
    desk.save(KeyStore::Auto, "a", "sk-removed").expect("kept");
    desk.begin("stuck");
    desk.keys(KeyStore::Auto).remove("a").expect_err("the keyring still has it");
    assert_eq!(desk.kept("a"), None);
    desk.begin("full");
    let why = desk.save(KeyStore::Keyring, "a", "sk-new").expect_err("it takes none");
    assert!(why.to_string().contains("was not saved"), "{why}");
    assert_eq!(desk.kept("a"), None, "it was removed");
    desk.end("full");
    desk.end("stuck");
    desk.save(KeyStore::Keyring, "a", "sk-1").expect("kept");
    assert_eq!((desk.items("a"), desk.kept("a").as_deref()), (1, Some("sk-1")));
    desk.begin("full");
    desk.save(KeyStore::Keyring, "a", "sk-2").expect_err("it takes none");
    assert_eq!(desk.kept("a").as_deref(), Some("sk-1"), "nothing was replaced");
    // Where the file may take it, it does, and the keyring's counts no more.
    let place = desk.save(KeyStore::Auto, "a", "sk-3").expect("the file takes it");
    assert!(matches!(place.source, KeySource::File(_)), "{place}");
    assert_eq!((desk.items("a"), desk.kept("a").as_deref()), (0, Some("sk-3")));
}

#[test]
fn r9_what_another_process_kept_meanwhile_is_not_lost() {
    let desk = Desk::new();
    // Two that read the lists while they were empty.
    let (mut first, mut second) = (desk.keys(KeyStore::Auto), desk.keys(KeyStore::Auto));
    let mut third = desk.keys(KeyStore::File);
    first.save_key("a", Secret::new("sk-a")).expect("kept");
    second.save_key("b", Secret::new("sk-b")).expect("kept");
    third.save_key("c", Secret::new("sk-c")).expect("kept");
    first.save_key("d", Secret::new("sk-d")).expect("kept");
    let keys = desk.keys(KeyStore::Auto);
    assert_eq!(keys.kept_providers().collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    // What one of them never saw, it can remove.
    assert_eq!(second.remove("d").expect("removed"), Some(KeySource::Keyring));
    assert!(matches!(second.remove("c").expect("removed"), Some(KeySource::File(_))));
    assert_eq!((desk.items("d"), desk.kept("d"), desk.kept("c")), (0, None, None));
    assert_eq!(desk.kept("a").as_deref(), Some("sk-a"));
}

#[test]
fn r9_the_keyring_alone_or_an_error_where_that_was_said() {
    let desk = Desk::new();
    desk.begin("locked");
    let why = desk.save(KeyStore::Keyring, "a", "sk-1").expect_err("locked").to_string();
    assert!(why.contains("it is locked") && !why.contains("sk-1"), "{why}");
    assert!(!desk.file_has("sk-1"));
    assert!(desk.keys(KeyStore::Keyring).describe_store().is_err());
    let file = desk.keys(KeyStore::Auto).describe_store().expect("the file");
    assert!(file.contains("keys.toml") && file.contains("it is locked"), "{file}");
    desk.end("locked");
    assert_eq!(desk.keys(KeyStore::Keyring).describe_store().as_deref(), Ok("the system keyring"));
    desk.save(KeyStore::Keyring, "a", "sk-1").expect("kept");
    std::fs::remove_dir_all(desk.at("ring")).expect("somebody removed it there");
    let keys = desk.keys(KeyStore::Auto);
    let problem = keys.keyring_problem().expect("told");
    assert!(problem.contains("no key for a any more"), "{problem}");
}

#[test]
fn r9_a_damaged_list_of_names_is_named_and_nothing_is_lost() {
    let desk = Desk::new();
    let list = desk.at("config/keyring.toml");
    let many: Vec<String> = (0..65).map(|number| format!("n{number} = \"{number}\"")).collect();
    let many = format!("[names]\n{}\n", many.join("\n"));
    for (text, expected) in [("names = 4", "is not a list"), (many.as_str(), "65 names")] {
        std::fs::write(&list, text).expect("a file");
        let read = ProviderKeys::read_beside(&desk.dirs(), Err("there is none".into()));
        let why = read.expect_err("damaged").to_string();
        assert!(why.contains("keyring.toml") && why.contains(expected), "{why}");
        assert_eq!(std::fs::read_to_string(&list).expect("still there"), text);
    }
    std::fs::write(&list, "[names]\na = \"1\"\n").expect("a file");
    let keys = ProviderKeys::read_beside(&desk.dirs(), Err("Weir uses none here".into()));
    assert_eq!(keys.expect("a list").keyring_problem(), Some("Weir uses none here"));
}
