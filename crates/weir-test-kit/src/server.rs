//! A server to test: the real program in an installation of its own, as people, programs and attackers
//! meet it. Not here: who speaks to it (`browser`).

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;

use crate::browser::{Browser, PASSWORD, SharedAddress};
use crate::installation::TestInstallation;
use crate::running::RunningProgram;
use crate::wait::wait_until_async;

/// What the model says where a test does not care.
const ANY_SCRIPT: &str = "name: test\n\nsays: Done.\n";

/// What a server starts with.
#[derive(Default)]
pub struct ServerSetup<'a> {
    /// What the model says; empty: `says: Done.` once.
    pub script: &'a str,
    /// More of `config.toml`.
    pub config: &'a str,
    /// Where data is kept; `None`: the state folder.
    pub database: Option<String>,
    /// Variables.
    pub env: &'a [(&'a str, &'a str)],
}

/// A server that runs. Dropping it ends it.
pub struct TestServer {
    /// Its folders.
    pub house: TestInstallation,
    database: Option<String>,
    running: Option<ListeningProgram>,
    address: SharedAddress,
    admin: Option<Browser>,
}

/// The program, once it listens.
struct ListeningProgram {
    program: RunningProgram,
    address: String,
}

impl ListeningProgram {
    fn start(
        house: &TestInstallation,
        database: Option<&str>,
        more_args: &[&str],
    ) -> ListeningProgram {
        let mut args = vec!["serve"];
        if !more_args.contains(&"--bind") {
            args.extend(["--bind", "127.0.0.1:0"]);
        }
        if let Some(database) = database {
            args.extend(["--database", database]);
        }
        args.extend(more_args);
        let mut program = house.start(&args);
        let line = program.wait_for_error_line("listening on ");
        let address = line.rsplit_once("//").expect("an address").1.to_owned();
        ListeningProgram { program, address }
    }
}

impl TestServer {
    /// Starts a server, and waits until it listens.
    pub async fn start(setup: ServerSetup<'_>) -> TestServer {
        let mut house = TestInstallation::new();
        for (name, value) in setup.env {
            house = house.with_variable(name, value);
        }
        let script = if setup.script.is_empty() { ANY_SCRIPT } else { setup.script };
        house.set_scripted_model(script, setup.config);
        TestServer::start_in(house, setup.database).await
    }

    /// Starts a server on folders that are there, with the settings that stand in them.
    pub async fn start_in(house: TestInstallation, database: Option<String>) -> TestServer {
        let running = ListeningProgram::start(&house, database.as_deref(), &[]);
        let address = Arc::new(Mutex::new(running.address.clone()));
        TestServer { house, database, running: Some(running), address, admin: None }
    }

    fn running(&self) -> &ListeningProgram {
        self.running.as_ref().expect("the server runs")
    }

    /// `127.0.0.1:PORT`.
    pub fn address(&self) -> &str {
        &self.running().address
    }

    /// An address on it: `/chats` becomes `http://127.0.0.1:PORT/chats`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address())
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.running().program.pid()
    }

    /// What it said on standard error until now.
    pub fn error_text(&self) -> String {
        self.running().program.error_text()
    }

    /// The first line with these words that it says on standard error; waits for it.
    pub fn wait_for_line(&mut self, words: &str) -> String {
        let running = self.running.as_mut().expect("the server runs");
        running.program.wait_for_error_line(words)
    }

    /// The setup code that it printed.
    pub fn setup_code(&mut self) -> String {
        let line = self.wait_for_line("setup code: ");
        let code = line.split("setup code: ").nth(1).expect("a code");
        code.split_whitespace().next().expect("a code").to_owned()
    }

    /// Somebody without an account.
    pub fn stranger(&self) -> Browser {
        Browser::new(self.address.clone())
    }

    /// The admin, signed in: the first call sets the server up.
    pub async fn admin(&mut self) -> Browser {
        if let Some(admin) = &self.admin {
            return admin.clone();
        }
        let code = self.setup_code();
        let browser = self.stranger();
        let fields = [
            ("code", code.as_str()),
            ("name", "admin"),
            ("password", PASSWORD),
            ("again", PASSWORD),
        ];
        let (status, location, body) = browser.form("/setup", &fields).await;
        assert_eq!((status, location.as_str()), (303, "/"), "setup: {body}");
        browser.ask_csrf().await;
        self.admin = Some(browser.clone());
        browser
    }

    /// Somebody with an account of their own, role user, signed in.
    pub async fn person(&mut self, name: &str) -> Browser {
        let admin = self.admin().await;
        let body = json!({ "name": name, "password": PASSWORD });
        let (status, made) = admin.api("POST", "/api/v1/users", Some(body)).await;
        assert_eq!(status, 201, "an account for {name}: {made}");
        self.signed_in(name).await
    }

    /// A browser more of somebody who has an account.
    pub async fn signed_in(&self, name: &str) -> Browser {
        let browser = self.stranger();
        browser.sign_in(name, PASSWORD).await;
        browser
    }

    /// `weir phone` at the terminal of the first person, and the code that it shows.
    pub async fn pairing_code(&self, more: &[&str]) -> (RunningProgram, String) {
        let mut args = vec!["phone"];
        if let Some(database) = &self.database {
            args.extend(["--database", database]);
        }
        args.extend(more);
        let mut terminal = self.house.start(&args);
        terminal.until("five minutes.", 1).await;
        let text = terminal.output_text();
        let code = text.split("type the code ").nth(1).and_then(|rest| rest.lines().next());
        let code = code.expect("it shows a code").to_owned();
        (terminal, code)
    }

    /// A telephone of the first person's, paired by a code of their terminal.
    pub async fn telephone(&self, name: &str) -> Browser {
        let (terminal, code) = self.pairing_code(&["--name", name]).await;
        let phone = self.stranger();
        let (status, location, body) = phone.form("/phone", &[("code", code.as_str())]).await;
        assert_eq!((status, location.as_str()), (303, "/approvals"), "pairing: {body}");
        phone.ask_csrf().await;
        let told = terminal.wait_for_end();
        assert!(told.out.contains(&format!("Paired: {name} of ")), "{}", told.out);
        phone
    }

    /// Ends it without a chance to tidy up and starts it again on the same data. Browsers that were
    /// made before go on with the new port.
    pub async fn kill_and_restart(&mut self) {
        self.kill();
        self.restart().await;
    }

    /// Ends it without a chance to tidy up.
    pub fn kill(&mut self) {
        self.running.take().expect("the server runs").program.kill();
    }

    /// Starts it again after [`TestServer::kill`] where it was: whoever held a line finds it there.
    pub fn restart_at(&mut self, address: &str) {
        let database = self.database.as_deref();
        let running = ListeningProgram::start(&self.house, database, &["--bind", address]);
        assert_eq!(running.address, address);
        self.running = Some(running);
    }

    /// Asks it to end and waits; its exit status.
    pub async fn stop(&mut self) -> i32 {
        let mut running = self.running.take().expect("the server runs");
        running.program.signal("-TERM");
        let ended = async || running.program.exit_status().ok_or_else(|| running.program.text());
        wait_until_async("the server has ended", ended).await
    }

    /// Starts it again after [`TestServer::stop`].
    pub async fn restart(&mut self) {
        let running = ListeningProgram::start(&self.house, self.database.as_deref(), &[]);
        *self.address.lock().unwrap_or_else(PoisonError::into_inner) = running.address.clone();
        self.running = Some(running);
    }
}
