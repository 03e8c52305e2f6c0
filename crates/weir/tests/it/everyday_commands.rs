//! The commands of an ordinary day in each tier of the sandbox, through the real program as a person
//! sets it up: what works where is a table that is kept. Not here: what asks (`everyday`).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use weir_test_kit::{TestInstallation, skip_test, weir_program};

/// Name and line. Later ones build on earlier ones, as on a day.
const COMMANDS: [(&str, &str); 26] = [
    ("new file at the top", "printf 'old\\n' > top.txt && cat top.txt"),
    ("edit in place", "sed -i s/old/new/ top.txt && grep -q new top.txt"),
    ("new folders", "mkdir -p made/deep && touch made/deep/file"),
    ("move and remove", "cp top.txt copy.txt && mv copy.txt moved.txt && rm moved.txt"),
    ("link", "ln -s top.txt link && test \"$(cat link)\" = new"),
    ("archive", "tar czf made.tgz made && tar tzf made.tgz && rm made.tgz"),
    ("temporary file", "t=$(mktemp) && echo x > \"$t\" && rm \"$t\""),
    ("lock", "flock lock.file true && rm lock.file"),
    ("commit", "git add -A && git commit -qm one"),
    ("new branch", "git switch -qc feature && git branch other && git tag v1"),
    ("append", "echo more >> top.txt"),
    ("stash", "git stash push -q && git stash pop -q"),
    ("restore", "git restore top.txt && git status --short"),
    ("switch and merge", "git switch -q main && git merge -q feature"),
    ("history", "git log --oneline -3 && git diff HEAD~1 --stat"),
    ("make", "make -s && ./hello"),
    ("cargo build", "cargo build --offline -q"),
    ("cargo test", "cargo test --offline -q 2>&1 | tail -3"),
    ("virtual environment", "python3 -m venv .venv && .venv/bin/python -c 'print(1)'"),
    ("Unix socket in the workspace", "python3 sockets.py ./s.sock"),
    ("Unix socket in TMPDIR", "python3 sockets.py \"$TMPDIR/s.sock\""),
    ("server and client on loopback", "python3 loopback.py"),
    ("pseudo-terminal", "python3 terminal.py"),
    ("node", "node -e 'require(\"fs\").writeFileSync(\"n.txt\", \"x\")' && cat n.txt"),
    ("npm", "mkdir -p pkg && cd pkg && npm init -y >/dev/null && cat package.json"),
    ("database file", "python3 database.py"),
];

const FILES: [(&str, &str); 9] = [
    (".gitignore", "target\n.venv\nhello\nnode_modules\n"),
    ("Makefile", "hello: hello.c\n\tcc -o hello hello.c\n"),
    ("hello.c", "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n"),
    ("Cargo.toml", "[package]\nname = \"day\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
    ("src/lib.rs", "#[test]\nfn it_works() { assert_eq!(1 + 1, 2); }\n"),
    (
        "sockets.py",
        "import os, socket, sys, threading\n\
         s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()\n\
         def serve():\n    c, _ = s.accept(); c.sendall(b'pong')\n\
         threading.Thread(target=serve).start()\n\
         c = socket.socket(socket.AF_UNIX); c.connect(sys.argv[1]); assert c.recv(9) == b'pong'\n\
         os.unlink(sys.argv[1])\n",
    ),
    (
        "loopback.py",
        "import http.server, threading, urllib.request\n\
         s = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n\
         threading.Thread(target=s.handle_request).start()\n\
         url = f'http://127.0.0.1:{s.server_port}/top.txt'\n\
         o = urllib.request.build_opener(urllib.request.ProxyHandler({}))\n\
         assert o.open(url, timeout=60).status == 200\n",
    ),
    (
        "terminal.py",
        "import os, pty\n\
         pid, fd = pty.fork()\n\
         if pid == 0: os.execvp('sh', ['sh', '-c', 'test -t 0 && tty'])\n\
         print(os.read(fd, 100)); assert os.waitpid(pid, 0)[1] == 0\n",
    ),
    (
        "database.py",
        "import sqlite3\n\
         d = sqlite3.connect('day.db'); d.execute('pragma journal_mode=wal')\n\
         d.execute('create table t (x)'); d.execute('insert into t values (1)'); d.commit()\n\
         assert d.execute('select x from t').fetchone() == (1,); d.close()\n",
    ),
];

/// A repository as somebody has it, and a model that runs one command after the other.
fn house(tier: &str) -> TestInstallation {
    let mut house = TestInstallation::new();
    // The tool chain of this machine, which is no part of the person's home here.
    for name in ["CARGO_HOME", "RUSTUP_HOME"] {
        let folder = format!(".{}", name.trim_end_matches("_HOME").to_lowercase());
        let usual = std::env::var_os("HOME").map(|home| Path::new(&home).join(folder));
        let folder = std::env::var_os(name).map(PathBuf::from).or(usual);
        if let Some(folder) = folder.filter(|folder| folder.is_dir()) {
            house = house.with_variable(name, &folder.display().to_string());
        }
    }
    for (name, text) in FILES {
        house.write(&house.at("work").join(name), text);
    }
    house.write(
        &house.at("home/.gitconfig"),
        "[user]\n\tname = Ann\n\temail = ann@example.org\n[init]\n\tdefaultBranch = main\n",
    );
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command.args(words).current_dir(house.work()).env("HOME", house.at("home"));
        let output = command.output().expect("git is there");
        assert!(output.status.success(), "{output:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "-A"]);
    git(&["commit", "-qm", "first"]);
    house.ok(&["config", "set", "sandbox.tier", tier]);
    let call = |(_, line): &(&str, &str)| {
        format!("calls: run_shell {}\n\n", json!({ "command": line, "timeout_seconds": 300 }))
    };
    let turns: String = COMMANDS.iter().map(call).collect();
    house.write(&house.at("s.script"), &format!("{turns}says: Done.\n"));
    house
}

/// What became of each: nothing where it ended well, else what it said.
fn played(tier: &str) -> Vec<Option<String>> {
    let house = house(tier);
    let script = house.script_model();
    let words = ["run", "-m", &script, "--permission", "full", "--output", "jsonl", "go"];
    let output = house.command(&words).output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let events: Vec<Value> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let ended = events.iter().filter(|event| event["kind"] == "call.finished");
    let became: Vec<Option<String>> = ended
        .map(|event| {
            let summary = event["summary"].as_str().unwrap_or_default();
            (!summary.starts_with("Exit code 0")).then(|| event["result"].to_string())
        })
        .collect();
    assert_eq!(became.len(), COMMANDS.len(), "{tier}: {}", String::from_utf8_lossy(&output.stderr));
    became
}

#[test]
fn z4_the_commands_of_an_ordinary_day_work_in_every_tier() {
    let program = weir_program();
    let report = weir_sandbox::probe_tiers(weir_sandbox::TierWish::Auto, &program);
    let mut columns = BTreeMap::new();
    for check in &report.tiers {
        let tier = check.tier.as_str();
        if !check.works {
            skip_test(format!("{tier} does not work here: {}", check.detail));
            return;
        }
        columns.insert(tier, played(tier));
    }
    let mut table = format!("{:32}", "");
    for tier in columns.keys() {
        let _ = write!(table, "{tier:12}");
    }
    table = format!("{}\n", table.trim_end());
    for (at, (name, _)) in COMMANDS.iter().enumerate() {
        let mut line = format!("{name:32}");
        for became in columns.values() {
            let _ = write!(line, "{:12}", if became[at].is_none() { "works" } else { "-" });
        }
        table += &format!("{}\n", line.trim_end());
    }
    let failed: Vec<String> = columns
        .iter()
        .flat_map(|(tier, became)| {
            let failed =
                became.iter().enumerate().filter_map(|(at, said)| Some((at, said.as_ref()?)));
            failed.map(move |(at, said)| format!("{tier}, {}: {said}", COMMANDS[at].0))
        })
        .collect();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated/everyday.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&kept, &table).expect("the table can be written");
    }
    let count = |tier: &str| columns[tier].iter().filter(|said| said.is_none()).count();
    assert_eq!((count("namespaces"), count("bubblewrap")), (26, 26), "{failed:#?}");
    assert!(count("landlock") >= 24, "{failed:#?}");
    let text = std::fs::read_to_string(&kept).unwrap_or_default();
    assert_eq!(text, table, "UPDATE=1 rewrites {}; {failed:#?}", kept.display());
}

#[test]
fn r7_a_command_that_wants_a_terminal_has_one_and_a_job_is_typed_to() {
    let calls = [
        ("run_shell", json!({ "command": "test -t 1 && stty size", "tty": true })),
        ("run_shell", json!({ "command": "python3 -q -i", "tty": true, "background": true })),
        (
            "write_shell_input",
            json!({ "job": "j2", "text": "print(6 * 7); open('answered', 'w').close()\n" }),
        ),
        // Until it has answered, and what it said was read.
        ("run_shell", json!({ "command": "until [ -e answered ]; do sleep 0.1; done; sleep 1" })),
        ("read_shell_output", json!({ "job": "j2" })),
    ];
    let turns = calls.map(|(tool, input)| format!("calls: {tool} {input}\n\n")).concat();
    let house = TestInstallation::with_script(&format!("{turns}says: Done.\n"));
    let model = house.script_model();
    let said = house.run(&["run", "-m", &model, "--permission", "full", "go"]);
    assert_eq!(said.status, 0, "{said:?}");
    let listed = house.json(&["sessions", "list", "--json"]);
    let id = listed[0]["id"].as_str().expect("a session").to_owned();
    let facts = house.facts_of_kind(&id, "call.finished");
    let results: Vec<String> = facts.iter().map(ToString::to_string).collect();
    assert!(results[0].contains("40 120"), "{results:#?}");
    assert!(results[4].contains("42"), "{results:#?}");
}
