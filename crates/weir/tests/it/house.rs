//! A house to run the binary in: its own home, configuration, state and workspace, and no variable
//! of the machine's but PATH.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::disk::SmallDisk;

/// Temporary folders, removed at the end.
pub(crate) struct House {
    folder: tempfile::TempDir,
    variables: Vec<(String, String)>,
    /// What stands before the program: a disk of its own.
    before: Vec<String>,
}

/// What a command said.
pub(crate) struct Said {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl House {
    /// An empty one.
    pub(crate) fn new() -> House {
        let house = House {
            folder: tempfile::tempdir().expect("a temporary folder"),
            variables: Vec::new(),
            before: Vec::new(),
        };
        for folder in ["home", "config/weir", "work"] {
            std::fs::create_dir_all(house.at(folder)).expect("a new folder");
        }
        house
    }

    /// The same with a variable.
    pub(crate) fn with(mut self, name: &str, value: &str) -> House {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// The same on this disk.
    pub(crate) fn on(mut self, disk: &SmallDisk) -> House {
        self.before = disk.before(&self.work());
        self
    }

    /// A path in it.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// The folder that is worked in.
    pub(crate) fn work(&self) -> PathBuf {
        self.at("work")
    }

    /// The person's own `config.toml`.
    pub(crate) fn user_config(&self) -> PathBuf {
        self.at("config/weir/config.toml")
    }

    /// The workspace's `config.toml`.
    pub(crate) fn project_config(&self) -> PathBuf {
        self.at("work/.weir/config.toml")
    }

    /// Writes a file and the folders above it.
    pub(crate) fn write(&self, path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("writable");
        std::fs::write(path, text).expect("writable");
    }

    /// A command in the workspace, ready to be started.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let program = env!("CARGO_BIN_EXE_weir");
        let mut command = match self.before.split_first() {
            None => Command::new(program),
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(program);
                command
            }
        };
        command
            .args(args)
            .current_dir(self.work())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.at("home"))
            .env("XDG_CONFIG_HOME", self.at("config"))
            .env("XDG_STATE_HOME", self.at("state"))
            // No local model server of the machine is found: these are closed ports.
            .env("OLLAMA_HOST", "127.0.0.1:1")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }

    /// Runs a command with nothing on standard input.
    pub(crate) fn run(&self, args: &[&str]) -> Said {
        Said::of(self.command(args).output().expect("the binary starts"))
    }

    /// Runs a command with `input` on standard input.
    pub(crate) fn run_with(&self, args: &[&str], input: &str) -> Said {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let mut stdin = child.stdin.take().expect("it was piped");
        // Whoever does not read it may close it.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        Said::of(child.wait_with_output().expect("it ends"))
    }

    /// Runs a command that must succeed; its standard output.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let said = self.run(args);
        assert_eq!(said.status, 0, "weir {}: {}", args.join(" "), said.err);
        said.out
    }

    /// Runs a command that must succeed; its standard output as JSON.
    pub(crate) fn json(&self, args: &[&str]) -> serde_json::Value {
        serde_json::from_str(&self.ok(args)).expect("JSON")
    }

    /// Runs a command that must be refused as a usage error; what it said.
    pub(crate) fn to_caller_error(&self, args: &[&str]) -> String {
        let said = self.run(args);
        assert_eq!(said.status, 2, "weir {}: {}{}", args.join(" "), said.out, said.err);
        assert!(said.out.is_empty(), "nothing on standard output: {}", said.out);
        said.err
    }
}

impl Said {
    fn of(output: Output) -> Said {
        Said {
            status: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).expect("UTF-8"),
            err: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }
}
