//! That what is the same is kept once, and that whatever changes is seen by the next look, also where nothing
//! but the bytes of a file tells.

use std::fs::File;

use serde_json::json;
use weir_core::ids::Timestamp;
use weir_test_kit::TestFolder;

use super::*;
use crate::config::{BrowserSettings, MadeValue};
use crate::context::InstallationContext;
use crate::environment::ProcessEnvironment;
use crate::models::load_catalogue;
use crate::set_up::context_in;
use crate::trust::{TrustRecord, TrustStore, find_governed_files, snapshot_files};

const OWN: &str = "config/weir/config.toml";
const PROJECT: &str = "work/.weir/config.toml";

/// A program with one person and two folders.
struct House {
    folder: TestFolder,
    cx: InstallationContext,
}

impl House {
    fn new() -> House {
        let files = [("work/note.txt", "x"), ("other/note.txt", "x"), ("state/x", "")];
        let folder = TestFolder::with_files(&files);
        let cx = context_in(&folder);
        House { folder, cx }
    }

    /// What the next session in this folder is opened with.
    fn look_in(&self, folder: &str) -> InstallationContext {
        self.cx.reloaded_in_folder(&self.folder.path().join(folder)).expect("it is there")
    }

    fn look(&self) -> InstallationContext {
        self.look_in("work")
    }
}

fn config(cx: &InstallationContext) -> &WorkspaceConfig {
    cx.config().expect("settings")
}

fn iterations(cx: &InstallationContext) -> u32 {
    config(cx).settings.limits.max_iterations
}

#[test]
fn q18_sessions_with_the_same_settings_hold_them_and_their_catalogue_once() {
    let house = House::new();
    let text = "[providers.acme]\ndialect = \"openai-chat\"\nbase_url = \"https://a.example/v1\"\n";
    house.folder.write(OWN, text);
    let (one, two, elsewhere) = (house.look(), house.look(), house.look_in("other"));
    for other in [&two, &elsewhere] {
        assert!(std::ptr::eq(config(&one), config(other)));
        let known = |cx| std::ptr::from_ref(load_catalogue(cx).expect("a catalogue"));
        assert!(std::ptr::eq(known(&one), known(other)));
    }
    // What changes beside the models leaves their catalogue as it is.
    house.folder.write(OWN, &format!("[limits]\nmax_iterations = 11\n{text}"));
    let later = house.look();
    assert_eq!(iterations(&later), 11);
    let known = |cx| std::ptr::from_ref(load_catalogue(cx).expect("a catalogue"));
    assert!(std::ptr::eq(known(&one), known(&later)));
}

#[test]
fn q19_a_changed_setting_is_seen_by_the_next_opening_whatever_the_times_of_its_file_say() {
    let house = House::new();
    house.folder.write(OWN, "[limits]\nmax_iterations = 11\n");
    let written = || File::options().write(true).open(house.folder.path().join(OWN)).expect("it");
    let modified = written().metadata().and_then(|found| found.modified()).expect("a time");
    let first = house.look();
    assert_eq!(iterations(&first), 11);
    // As long as before, and as old.
    house.folder.write(OWN, "[limits]\nmax_iterations = 12\n");
    written().set_modified(modified).expect("set back");
    assert_eq!(iterations(&house.look()), 12);
    assert_eq!(iterations(&first), 11, "what was opened keeps what it was opened with");
    house.folder.write(OWN, "[limits]\nmax_iterations = true\n");
    assert!(house.look().config().is_err(), "a mistake is told, and nothing from before is used");
    std::fs::remove_file(house.folder.path().join(OWN)).expect("removed");
    assert_eq!(iterations(&house.look()), 1_000);
    house.folder.write(OWN, "[limits]\nmax_iterations = 11\n");
    assert!(std::ptr::eq(config(&first), config(&house.look())));
}

#[test]
fn q19_a_changed_provider_is_seen_by_the_next_opening() {
    let house = House::new();
    let address = |cx: &InstallationContext| {
        let catalogue = load_catalogue(cx).expect("a catalogue");
        catalogue.find_vendor("acme").map(|vendor| vendor.base_url.clone())
    };
    let write = |url: &str| {
        let text = format!("[providers.acme]\ndialect = \"openai-chat\"\nbase_url = \"{url}\"\n");
        house.folder.write(OWN, &text);
    };
    assert_eq!(address(&house.look()), None);
    for url in ["https://a.example/v1", "https://b.example/v1", "https://a.example/v1"] {
        write(url);
        assert_eq!(address(&house.look()).as_deref(), Some(url));
    }
    std::fs::remove_file(house.folder.path().join(OWN)).expect("removed");
    assert_eq!(address(&house.look()), None);
}

#[test]
fn q19_trust_that_is_given_and_lost_is_seen_by_the_next_opening() {
    let house = House::new();
    house.folder.write(PROJECT, "[commands]\nenv = [\"LANGUAGE\"]\n");
    let lent = |cx: &InstallationContext| config(cx).settings.commands.env.clone();
    let cx = house.look();
    assert_eq!(lent(&cx), Vec::<String>::new());
    let files = find_governed_files(&cx.folder).and_then(|found| snapshot_files(&found));
    let record = TrustRecord {
        trusted_at: Timestamp(1),
        by: "ann".into(),
        files: files.expect("they can be read"),
    };
    TrustStore::add_record(&cx.dirs.state, &cx.folder, record).expect("trusted");
    assert_eq!(lent(&house.look()), ["LANGUAGE"]);
    assert_eq!(lent(&cx), Vec::<String>::new(), "it was looked up before");
    // Another governed file changes; the settings' own is as it was.
    house.folder.write("work/.mcp.json", "{}");
    assert_eq!(lent(&house.look()), Vec::<String>::new());
    std::fs::remove_file(house.folder.path().join("work/.mcp.json")).expect("removed");
    assert_eq!(lent(&house.look()), ["LANGUAGE"]);
    TrustStore::remove(&cx.dirs.state, &cx.folder).expect("no more");
    assert_eq!(lent(&house.look()), Vec::<String>::new());
}

#[test]
fn q19_what_is_set_in_the_browser_is_seen_by_the_next_opening() {
    let house = House::new();
    let set = |iterations: u32| {
        let value = MadeValue { value: json!(iterations), by: "ann".into(), ts: Timestamp(1) };
        let installation = [("limits.max_iterations".to_owned(), value)].into();
        house.cx.set_made(BrowserSettings { installation, ..BrowserSettings::default() })
    };
    assert_eq!(iterations(&house.look()), 1_000);
    for number in [7, 8, 7] {
        assert!(set(number));
        assert_eq!(iterations(&house.look()), number);
    }
}

#[test]
fn s9_what_an_admin_has_is_never_taken_for_what_a_guest_gets() {
    let house = House::new();
    house.folder.write(OWN, "[commands]\nenv = [\"LANGUAGE\"]\n");
    let (files, made) = (house.cx.config_files(), BrowserSettings::default());
    let inputs = ConfigInputs::read(&files, &house.cx.environment, false, &made).expect("readable");
    let cache = SettingsCache::default();
    for is_guest in [false, true, false, true] {
        let config = cache.load_config(&inputs, is_guest).expect("settings");
        assert_eq!(config.settings.commands.env.is_empty(), is_guest);
    }
}

#[test]
fn q19_the_same_text_in_another_file_is_another_thing() {
    let house = House::new();
    let digest = |trusted: bool, variables: &[(&str, &str)]| {
        let (files, made) = (house.cx.config_files(), BrowserSettings::default());
        let environment = ProcessEnvironment::of(variables);
        let inputs = ConfigInputs::read(&files, &environment, trusted, &made).expect("readable");
        inputs.digest().expect("a digest")
    };
    let mut seen =
        vec![digest(false, &[]), digest(true, &[]), digest(false, &[("WEIR_MODEL", "a")])];
    seen.push(digest(false, &[("WEIR_MODEL", "b")]));
    house.folder.write(OWN, "");
    seen.push(digest(false, &[]));
    house.folder.write(OWN, "permission = \"plan\"\n");
    seen.push(digest(false, &[]));
    std::fs::remove_file(house.folder.path().join(OWN)).expect("removed");
    house.folder.write(PROJECT, "permission = \"plan\"\n");
    seen.push(digest(false, &[]));
    let all = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), all);
}

#[test]
fn q18_what_was_used_last_is_kept_and_no_more_than_its_bound() {
    let kept = RecentParts::<usize, usize>::default();
    let first = kept.keep(0, 0);
    for key in 1..KEPT_MAX * 2 {
        kept.keep(key, key);
        assert!(Arc::ptr_eq(&first, &kept.find(&0).expect("it is used")));
    }
    assert_eq!(kept.find(&1), None);
    assert_eq!(kept.0.lock().expect("unpoisoned").len(), KEPT_MAX);
    assert!(Arc::ptr_eq(&first, &kept.keep(0, 5)), "whoever was quicker");
}
