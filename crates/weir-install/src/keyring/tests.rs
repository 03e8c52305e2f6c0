//! The keyring beside programs that are scripts: what they are given, and how long they are waited for. Not
//! here: a real keyring (`tests/outside/keyring.sh`).

use super::*;

const UNLOCKED: &str = "echo '   variant       boolean false'";

/// Longer than any wait that has a bound, however slow the machine; what would be waited for otherwise takes
/// longer.
const BOUNDED: Duration = Duration::from_secs(30);

impl Keyring {
    /// One whose programs are shell scripts of these texts, in this folder, which is also whose keys it has.
    pub(crate) fn of_scripts(folder: &Path, secret_tool: &str, dbus_send: &str) -> Keyring {
        use std::os::unix::fs::PermissionsExt as _;
        for (name, text) in [("secret-tool", secret_tool), ("dbus-send", dbus_send)] {
            let path = folder.join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a file");
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&path, mode).expect("ours");
        }
        let nowhere = "unix:path=/nowhere".to_owned();
        Keyring {
            program_folders: vec![folder.to_path_buf()],
            folder: folder.display().to_string(),
            variables: vec![
                ("PATH", "/usr/bin:/bin".to_owned()),
                ("DBUS_SESSION_BUS_ADDRESS", nowhere),
            ],
        }
    }
}

fn item(name: &str) -> KeyringItem {
    KeyringItem { name: name.into(), id: "1".into() }
}

#[test]
fn r9_a_secret_is_found_in_what_secret_tool_says() {
    let open = "[/1]\nlabel = Weir: a\nsecret = sk-1 = x\ncreated = 2026-11-29 14:16:13\n";
    assert_eq!(secret_in_answer(open).expect("one").reveal(), "sk-1 = x");
    assert!(secret_in_answer("[/1]\nlabel = secret = no\ncreated = x\n").is_none());
    assert!(secret_in_answer("secret = \n").is_none() && secret_in_answer("").is_none());
}

#[test]
fn r9_without_a_session_bus_nothing_is_started() {
    let folder = tempfile::tempdir().expect("a folder");
    let began = folder.path().join("began");
    let script = format!("touch {}", began.display());
    let variables = vec![("XDG_RUNTIME_DIR", folder.path().display().to_string())];
    let keyring = Keyring { variables, ..Keyring::of_scripts(folder.path(), &script, &script) };
    assert_eq!(keyring.open_default().expect_err("no bus"), "there is no session bus");
    assert!(!began.exists());
}

#[test]
fn r9_a_missing_program_is_named_with_its_package() {
    let folder = tempfile::tempdir().expect("a folder");
    let keyring = Keyring::of_scripts(folder.path(), "", UNLOCKED);
    std::fs::remove_file(folder.path().join("secret-tool")).expect("it was there");
    let why = keyring.open_default().expect_err("it is missing");
    assert!(why.contains("secret-tool") && why.contains("libsecret-tools"), "{why}");
}

#[test]
fn r9_no_key_is_in_an_argument_or_a_variable() {
    let folder = tempfile::tempdir().expect("a folder");
    let (seen, kept) = (folder.path().join("seen"), folder.path().join("kept"));
    let tool = format!(
        "echo \"$@\" >>{seen}; env >>{seen}; case $1 in store) cat >{kept};; \
         search) echo \"secret = $(cat {kept})\";; esac",
        seen = seen.display(),
        kept = kept.display(),
    );
    let keyring = Keyring::of_scripts(folder.path(), &tool, UNLOCKED);
    let key = Secret::new("sk-marker-0123456789");
    keyring.open_default().expect("unlocked").store_key(&item("-a"), &key).expect("kept");
    let seen = std::fs::read_to_string(seen).expect("it was asked");
    assert!(!seen.contains("sk-marker"), "{seen}");
    // A name is never an option, and a folder with letters outside ASCII is text.
    assert!(seen.contains("store --label=Weir: -a -- service weir account -a folder"), "{seen}");
    assert!(seen.contains("search -- service weir"), "{seen}");
    assert!(seen.contains("LC_ALL=C.UTF-8"), "{seen}");
}

#[test]
fn r9_a_keyring_that_does_not_answer_costs_a_bounded_wait() {
    let folder = tempfile::tempdir().expect("a folder");
    let silent = Keyring::of_scripts(folder.path(), "", "exec /bin/sleep 60");
    let began = Instant::now();
    let why = silent.open_default().expect_err("it says nothing");
    assert!(why.contains("in time") && began.elapsed() < BOUNDED, "{why}");
    // Many keys, each slow: all together have one time, not each its own.
    let slow = Keyring::of_scripts(folder.path(), "/bin/sleep 1.5; echo 'secret = x'", UNLOCKED);
    let items: Vec<KeyringItem> = (0..40).map(|number| item(&number.to_string())).collect();
    let began = Instant::now();
    let open = slow.open_default().expect("unlocked");
    let why = open.read_keys(&items).expect_err("too slow for so many");
    assert!(why.contains("in time"), "{why}");
    assert!(began.elapsed() < BOUNDED, "{:?}", began.elapsed());
    // Once the time is over nothing is started any more.
    let marked = folder.path().join("asked");
    let script = format!("touch {}", marked.display());
    let late = Keyring::of_scripts(folder.path(), &script, UNLOCKED);
    let open = OpenKeyring { until: Instant::now(), ..late.open_default().expect("unlocked") };
    assert!(open.read_keys(&[item("a")]).expect_err("too late").contains("in time"));
    assert!(!marked.exists());
}

#[test]
fn r9_output_that_stays_open_and_output_without_end_are_not_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let left = Keyring::of_scripts(folder.path(), "/bin/sleep 30 & echo 'secret = x'", UNLOCKED);
    // Other work on the machine makes an answer slower and never faster.
    let mut tries = (0..6).map(|_| {
        let began = Instant::now();
        let found = left.open_default().expect("unlocked").read_keys(&[item("a")]);
        // What it said before it ended is its answer, whoever holds the pipe.
        assert_eq!(found.expect("an answer"), [Some(Secret::new("x"))]);
        began.elapsed()
    });
    assert!(tries.any(|took| took < ANSWER_TIME), "the pipe was waited for");
    let endless = Keyring::of_scripts(folder.path(), "exec cat /dev/zero", UNLOCKED);
    let why = endless.open_default().expect("unlocked").read_keys(&[item("a")]);
    assert!(why.expect_err("nobody reads all of it").contains("more than an answer"));
    // A program that never reads what it is given: a key of any length holds nobody up.
    let deaf = Keyring::of_scripts(folder.path(), "exec /bin/sleep 60", UNLOCKED);
    let (began, long) = (Instant::now(), Secret::new("k".repeat(1 << 20)));
    let why = deaf.open_default().expect("unlocked").store_key(&item("a"), &long);
    assert!(why.expect_err("it reads nothing").contains("in time"));
    assert!(began.elapsed() < BOUNDED, "{:?}", began.elapsed());
}

#[test]
fn r9_a_locked_keyring_and_none_at_all_are_told_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    for (said, expected) in [
        ("echo '   variant       boolean true'", "it is locked"),
        ("exit 1", "no keyring answers"),
        ("echo nonsense", "does not say"),
    ] {
        let keyring = Keyring::of_scripts(folder.path(), "exit 1", said);
        let why = keyring.open_default().expect_err(said);
        assert!(why.contains(expected), "{why}");
    }
    let refusing = Keyring::of_scripts(folder.path(), "exit 1", UNLOCKED);
    let why = refusing.open_default().expect("unlocked").store_key(&item("a"), &Secret::new("x"));
    assert!(why.expect_err("it fails").contains("refused"));
}

#[test]
fn r9_many_requests_at_once_ask_once_also_where_it_does_not_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let counted = folder.path().join("counted");
    let (search, locked) = (
        "sleep 0.2; echo 'secret = x'".to_owned(),
        format!("echo asked >>{}; echo variant boolean true", counted.display()),
    );
    let open = format!("echo asked >>{}; {UNLOCKED}", counted.display());
    let times = || std::fs::read_to_string(&counted).map_or(0, |text| text.lines().count());
    let keyring = Keyring::of_scripts(folder.path(), &search, &open);
    let wanted = [item("a")];
    let ask = || read_remembered_keys(&keyring, &wanted).expect("unlocked");
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..10).map(|_| scope.spawn(ask)).collect();
        for one in asking {
            assert_eq!(one.join().expect("no panic"), [Some(Secret::new("x"))]);
        }
    });
    assert_eq!(times(), 1);
    // Another list is another question, and a change forgets what was said.
    read_remembered_keys(&keyring, &[item("b")]).expect("unlocked");
    assert_eq!(times(), 2);
    forget_answers(&keyring);
    let keyring = Keyring::of_scripts(folder.path(), &search, &locked);
    for _ in 0..3 {
        let why = read_remembered_keys(&keyring, &[item("b")]).expect_err("locked");
        assert_eq!(why, "it is locked");
    }
    assert_eq!(times(), 3, "that it cannot be used is remembered too");
}
