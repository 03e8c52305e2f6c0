//! Rules of one session, by whole command lines in this process.

use clap::Parser;
use weir_core::session::SessionConfig;
use weir_install::environment::ProcessEnvironment;
use weir_test_kit::TestFolder;

use super::*;
use crate::failure;
use crate::options::CliOptions;

struct House {
    folder: TestFolder,
}

impl House {
    fn new() -> House {
        let folder = TestFolder::with_files(&[("hello.script", "says: hello\n")]);
        folder.make_folder("work");
        House { folder }
    }

    fn options(&self, words: &[&str]) -> (CliOptions, ProcessEnvironment) {
        let at = |path: &str| self.folder.path().join(path).display().to_string();
        let (home, config) = (at("home"), at("config"));
        let environment = ProcessEnvironment::of(&[("HOME", &home), ("XDG_CONFIG_HOME", &config)]);
        let (work, state) = (at("work"), at("state"));
        let mut all = vec!["weir", "-C", &work, "--state-dir", &state];
        all.extend(words);
        (CliOptions::try_parse_from(all).expect("it is a command line"), environment)
    }

    fn cx(&self) -> InstallationContext {
        let (options, environment) = self.options(&["permissions", "list"]);
        options.global.open_context(environment).expect("the house stands")
    }

    fn script(&self) -> String {
        format!("script:{}", self.folder.path().join("hello.script").display())
    }

    /// Runs a command line in this house, in this process.
    async fn dispatch(&self, words: &[&str]) -> anyhow::Result<std::process::ExitCode> {
        let (options, environment) = self.options(words);
        crate::command::run_command(options, environment).await
    }

    /// The settings that a session has in the store.
    async fn stored(&self, id: &SessionId) -> SessionConfig {
        let store = self.cx().local_store().expect("open");
        let loaded = load(store.as_ref(), id).await.expect("it is there");
        loaded.session.config().expect("it was opened").as_ref().clone()
    }
}

#[tokio::test]
async fn c9_a_rule_for_one_session_is_a_fact_of_its_journal() {
    let house = House::new();
    let cx = house.cx();
    let wishes = SessionOverrides { model: Some(house.script()), ..SessionOverrides::default() };
    let options = wiring::session_options(&cx, &wishes, None).await.expect("settled");
    let id = wiring::new_session_id();
    let opened =
        wiring::open_engine(&cx, "test").await.expect("it stands").open(id.clone(), options).await;
    let opened = opened.expect("opened");
    opened.listen_to_updates(0).next().await.expect("readable").expect("its first fact is durable");

    let add = ["permissions", "add", "allow", "Shell(ls)", "--session", id.as_str()];
    let held = house.dispatch(&add).await.expect_err("somebody has it");
    assert_eq!(failure::exit_status(&held), Some(2), "{held}");
    assert!(held.to_string().contains("test"), "it names who: {held}");
    opened.close().await.expect("it closes");

    house.dispatch(&add).await.expect("at rest");
    let after = house.stored(&id).await;
    let rules: Vec<String> = after.rules.iter().map(ToString::to_string).collect();
    assert_eq!(rules, ["allow Shell(ls) (session)"]);
    assert_eq!(after.model.model.provider, "script", "nothing else changed");

    // The beginning of an id will do; what is not there is said.
    let short = &id.as_str()[..20];
    let remove = |rule| ["permissions", "remove", rule, "--session", short];
    house.dispatch(&remove("Shell(pwd)")).await.expect_err("it has no such rule");
    house.dispatch(&remove("Shell(ls)")).await.expect("removed");
    assert!(house.stored(&id).await.rules.is_empty());
    let nobody = ["permissions", "add", "allow", "Shell(ls)", "--session", "nobody"];
    house.dispatch(&nobody).await.expect_err("no such session");
}

/// What every command together would need stood in one frame once, of more than a megabyte.
#[test]
fn c1_a_command_needs_no_stack_for_the_others() {
    const STACK_BYTES: usize = 512 << 10;
    let house = House::new();
    let (options, environment) = house.options(&["schema", "tools"]);
    let run = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let command = crate::command::run_command(options, environment);
        assert!(size_of_val(&command) < 16 << 10, "{} bytes", size_of_val(&command));
        runtime.expect("a runtime").block_on(command).map_err(|error| format!("{error:#}"))
    };
    let small = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run).expect("a thread");
    small.join().expect("it has room").expect("it is printed");
}
