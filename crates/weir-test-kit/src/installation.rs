//! An installation to run the program in: its own home, configuration, state and workspace, and no
//! variable of the machine's but PATH. Not here: the program as a library, in the test's own process.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::disk::SmallDisk;
use crate::folder::TestFolder;
use crate::program::weir_program;
use crate::running::RunningProgram;

/// Temporary folders, removed at the end: `home`, `config/weir`, `state`, and `work`, which is the
/// workspace.
pub struct TestInstallation {
    folder: TestFolder,
    variables: Vec<(String, String)>,
    /// What stands before the program: a disk of its own.
    before: Vec<String>,
}

/// What a command printed, and how it ended.
#[derive(Debug, Clone)]
pub struct CommandOutput {
    /// Exit status; -1 where a signal ended it.
    pub status: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Default for TestInstallation {
    fn default() -> TestInstallation {
        TestInstallation::new()
    }
}

impl TestInstallation {
    /// An empty one.
    pub fn new() -> TestInstallation {
        let folder = TestFolder::new();
        ["home", "config/weir", "work"].iter().for_each(|path| folder.make_folder(path));
        TestInstallation { folder, variables: Vec::new(), before: Vec::new() }
    }

    /// One whose model plays this script. `config`: more of the person's `config.toml`.
    pub fn with_scripted_model(script: &str, config: &str) -> TestInstallation {
        let installation = TestInstallation::new();
        installation.set_scripted_model(script, config);
        installation
    }

    /// One with a file in the workspace (`a.txt`: `old`), and a script in the file `s.script`: the
    /// model [`TestInstallation::script_model`] plays it.
    pub fn with_script(script: &str) -> TestInstallation {
        let installation = TestInstallation::new();
        installation.write("work/a.txt", "old\n");
        installation.write("s.script", script);
        installation
    }

    /// The same with a variable.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> TestInstallation {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// The same on this disk.
    #[must_use]
    pub fn on_disk(mut self, disk: &SmallDisk) -> TestInstallation {
        self.before = disk.command_prefix(&self.work());
        self
    }

    /// From now on the model plays this script. `config`: more of the person's `config.toml`.
    pub fn set_scripted_model(&self, script: &str, config: &str) {
        self.write("test.script", script);
        let model = self.at("test.script").display().to_string();
        self.write(&self.user_config(), &format!("model = \"script:{model}\"\n{config}"));
    }

    /// The model that plays the file `s.script`, as `--model` names it.
    pub fn script_model(&self) -> String {
        format!("script:{}", self.at("s.script").display())
    }

    /// A path in it.
    pub fn at(&self, path: &(impl AsRef<Path> + ?Sized)) -> PathBuf {
        self.folder.at(path)
    }

    /// The folder that is worked in.
    pub fn work(&self) -> PathBuf {
        self.at("work")
    }

    /// The person's own `config.toml`.
    pub fn user_config(&self) -> PathBuf {
        self.at("config/weir/config.toml")
    }

    /// The workspace's `config.toml`.
    pub fn project_config(&self) -> PathBuf {
        self.at("work/.weir/config.toml")
    }

    /// Writes a file, and makes the folders above it.
    pub fn write(&self, path: &(impl AsRef<Path> + ?Sized), text: &(impl AsRef<[u8]> + ?Sized)) {
        self.folder.write(path, text);
    }

    /// What stands in a file; `None` where it is not there or is no text.
    pub fn read(&self, path: &(impl AsRef<Path> + ?Sized)) -> Option<String> {
        self.folder.read(path)
    }

    /// A command in the workspace, ready to be started.
    pub fn command(&self, args: &[&str]) -> Command {
        let program = weir_program();
        let mut command = match self.before.split_first() {
            None => Command::new(program),
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(program);
                command
            }
        };
        command.args(args);
        self.set_surroundings(&mut command);
        command
    }

    /// The same command at a terminal: that of `script` of util-linux.
    pub fn command_at_terminal(&self, args: &[&str]) -> Command {
        let quoted = |word: &&str| format!("'{}'", word.replace('\'', "'\\''"));
        let words: Vec<String> = args.iter().map(quoted).collect();
        // The shell gives way to the program, so that it is the child of `script`.
        let line = format!("exec '{}' {}", weir_program().display(), words.join(" "));
        let mut command = Command::new("script");
        command.args(["-qefc", &line, "/dev/null"]);
        self.set_surroundings(&mut command);
        command.env("SHELL", "/bin/sh").env("TERM", "dumb");
        command
    }

    fn set_surroundings(&self, command: &mut Command) {
        command
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
    }

    /// Starts a command that goes on while the test does.
    pub fn start(&self, args: &[&str]) -> RunningProgram {
        RunningProgram::start(self.command(args))
    }

    /// Starts the face in line mode over pipes: each line is taken when the one before it is done.
    pub fn start_face(&self, env: &[(&str, &str)], args: &[&str]) -> RunningProgram {
        let mut command = self.command(&[&["--plain"], args].concat());
        command.envs(env.iter().copied());
        RunningProgram::start_with_input(command)
    }

    /// Starts the face in line mode at a terminal: a line can be said into a run, and passwords are
    /// asked for.
    pub fn start_face_at_terminal(&self, env: &[(&str, &str)], args: &[&str]) -> RunningProgram {
        let mut command = self.command_at_terminal(&[&["--plain"], args].concat());
        command.envs(env.iter().copied());
        RunningProgram::start_with_input(command)
    }

    /// Runs a command with nothing on standard input.
    pub fn run(&self, args: &[&str]) -> CommandOutput {
        CommandOutput::of(self.command(args).output().expect("the program starts"))
    }

    /// Runs a command with `input` on standard input.
    pub fn run_with_input(&self, args: &[&str], input: &str) -> CommandOutput {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("it was piped");
        // Whoever does not read it may close it.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        CommandOutput::of(child.wait_with_output().expect("it ends"))
    }

    /// Runs a command that must succeed; its standard output.
    pub fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status, 0, "weir {}: {}", args.join(" "), output.err);
        output.out
    }

    /// Runs a command that must succeed; its standard output as JSON.
    pub fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.ok(args)).expect("JSON")
    }

    /// Runs a command that must be refused as a usage error; what it said.
    pub fn usage_error(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status, 2, "weir {}: {}{}", args.join(" "), output.out, output.err);
        assert!(output.out.is_empty(), "nothing on standard output: {}", output.out);
        output.err
    }

    /// The facts of a session's journal that are of this kind.
    pub fn facts_of_kind(&self, session: &str, kind: &str) -> Vec<Value> {
        let shown = self.json(&["sessions", "show", session, "--all", "--json"]);
        let facts = shown["events"].as_array().expect("it has events");
        facts.iter().filter(|fact| fact["kind"] == kind).cloned().collect()
    }
}

impl CommandOutput {
    /// Of a command that was started otherwise.
    pub fn of(output: Output) -> CommandOutput {
        CommandOutput {
            status: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).expect("UTF-8"),
            err: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    /// Exit status, and everything that was printed.
    pub fn status_and_text(&self) -> (i32, String) {
        (self.status, format!("{}{}", self.out, self.err))
    }

    /// Each line of standard output as JSON.
    pub fn json_lines(&self) -> Vec<Value> {
        let lines = self.out.lines();
        lines.map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }
}
