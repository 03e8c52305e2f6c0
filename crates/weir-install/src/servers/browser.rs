//! Brings a person to the page where they sign in: the program in the variable `BROWSER`, else the
//! one of the desktop. The address is always told too: the browser may be on another machine.

use std::ffi::OsString;
use std::process::Stdio;
use std::time::Duration;

use async_trait::async_trait;
use weir_core::view::plain::visible_text;
use weir_mcp::Authorizer;

use crate::environment::ProcessEnvironment;
use crate::notifier::Notifier;

/// How long the program that opens the page is waited for, to hear that it cannot.
const OPENING_WAIT: Duration = Duration::from_secs(2);

/// The person's browser.
pub struct SignInBrowser {
    program: OsString,
    /// Somebody reads what is said.
    attended: bool,
    notifier: Notifier,
}

impl SignInBrowser {
    /// The browser, where there is somebody to bring there: a terminal, or a variable that says how.
    pub fn find(environment: &ProcessEnvironment, notifier: Notifier) -> Option<SignInBrowser> {
        let named = environment.text_variable("BROWSER").map(OsString::from);
        let attended = (notifier.is_attended)();
        let desktop = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
        match named {
            Some(program) => Some(SignInBrowser { program, attended, notifier }),
            None if attended => Some(SignInBrowser { program: desktop.into(), attended, notifier }),
            None => None,
        }
    }
}

#[async_trait]
impl Authorizer for SignInBrowser {
    async fn open_page(&self, server: &str, url: &str) -> Result<(), String> {
        // It comes from the server: nothing but a page is opened.
        if !url.starts_with("https://") && !url.starts_with("http://") {
            return Err("it wants something opened that is no page".into());
        }
        (self.notifier.notify)(&format!(
            "sign in at {} here: {}",
            visible_text(server),
            visible_text(url)
        ));
        let mut command = tokio::process::Command::new(&self.program);
        command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let why = match command.spawn() {
            Err(error) => error.to_string(),
            Ok(mut child) => match tokio::time::timeout(OPENING_WAIT, child.wait()).await {
                Ok(Ok(status)) if !status.success() => status.to_string(),
                Ok(Ok(_)) | Err(_) => return Ok(()),
                Ok(Err(error)) => error.to_string(),
            },
        };
        // The person can still open the address that was told.
        if self.attended {
            return Ok(());
        }
        Err(format!("{} could not open the page: {why}", self.program.display()))
    }
}
