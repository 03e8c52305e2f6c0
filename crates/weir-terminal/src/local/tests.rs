//! The other end of the link, driven as a face drives it: the scripted model, and everything else
//! real. What needs commands or a terminal is tested with the program itself (`tests/tui`).

use std::path::PathBuf;
use std::time::Duration;

use tokio::task::JoinHandle;
use weir_core::event::{Decision, Event, RunStatus};
use weir_core::ids::{ApprovalId, Seq};
use weir_core::input::{ApprovalAnswer, PersonCommand};
use weir_core::profile::PermissionMode;
use weir_install::context::NamedFolders;
use weir_install::environment::ProcessEnvironment;
use weir_install::notifier::Notifier;
use weir_test_kit::TestFolder;
use weir_tui::link::{ListResult, NoticeTone, UiChannel, ui_channel_pair};

use super::*;

mod back;
mod chat;
mod looked_up;
mod settings;
mod settled;

/// How long anything may take on a busy machine.
const WAIT: Duration = Duration::from_secs(120);

/// A folder with a script, kept over several faces.
struct House(TestFolder);

impl House {
    fn new(script: &str) -> House {
        House(TestFolder::with_files(&[("work/note.txt", "one\n"), ("play.script", script)]))
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.at(path)
    }

    fn write(&self, path: &str, text: &str) {
        self.0.write(path, text);
    }

    fn read(&self, path: &str) -> Option<String> {
        self.0.read(path)
    }

    /// What was allowed for always, in whichever project.
    fn kept_rules(&self) -> String {
        let files = std::fs::read_dir(self.at("config/weir/projects"));
        let files = files.into_iter().flatten().flatten();
        files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect()
    }

    fn cx(&self) -> InstallationContext {
        let at = |path: &str| self.at(path).display().to_string();
        let (home, config) = (at("home"), at("config"));
        let variables = [("HOME", home.as_str()), ("XDG_CONFIG_HOME", config.as_str())];
        let named =
            NamedFolders { workspace: Some(self.at("work")), state_dir: Some(self.at("state")) };
        InstallationContext::new(&named, ProcessEnvironment::of(&variables), Notifier::SILENT)
            .expect("the house stands")
    }

    fn flags(&self) -> SessionOverrides {
        let script = format!("script:{}", self.at("play.script").display());
        SessionOverrides { model: Some(script), attended: true, ..SessionOverrides::default() }
    }

    async fn face(&self) -> Face {
        self.opened(SessionTarget::New, self.flags()).await
    }

    async fn opened(&self, which: SessionTarget, flags: SessionOverrides) -> Face {
        self.opened_from(which, flags, FirstTold::FirstFact).await
    }

    async fn opened_from(
        &self,
        which: SessionTarget,
        flags: SessionOverrides,
        told_from: FirstTold,
    ) -> Face {
        let (link, far) = ui_channel_pair();
        let picks = FirstSessionPicker::Nothing;
        let begin = FirstSession { which, flags, picks, name: None, told_from };
        let cx = self.cx();
        let served = tokio::spawn(async move {
            let (_printer, mut remarks) = mpsc::channel(1);
            serve_link(cx, begin, &mut remarks, far).await;
        });
        let mut face = Face { link, served, session: None, known: 0, names: 0 };
        face.until("opened", |news| matches!(news, UiUpdate::Opened { .. })).await;
        face
    }
}

/// Who sits before it.
struct Face {
    link: UiChannel,
    served: JoinHandle<()>,
    session: Option<SessionId>,
    known: Seq,
    names: u32,
}

impl Face {
    async fn wish(&self, wish: UiCommand) {
        self.link.wishes.send(wish).await.expect("somebody serves");
    }

    async fn say(&mut self, text: &str) -> String {
        self.names += 1;
        let client_id = format!("m{}", self.names);
        let (text, attached) = (text.to_owned(), Vec::new());
        self.wish(UiCommand::Say { text, attached, client_id: client_id.clone() }).await;
        client_id
    }

    /// The next news of that kind; those before it are passed over.
    async fn until(&mut self, what: &str, wanted: impl Fn(&UiUpdate) -> bool) -> UiUpdate {
        let mut passed = Vec::new();
        let found = async {
            while let Some(news) = self.link.news.recv().await {
                if let UiUpdate::Opened { session, known, .. } = &news {
                    self.session.clone_from(session);
                    self.known = *known;
                }
                if wanted(&news) {
                    return Some(news);
                }
                passed.push(match &news {
                    UiUpdate::Fact { event, .. } => event.kind().to_owned(),
                    other => format!("{other:?}"),
                });
            }
            None
        };
        let found = tokio::time::timeout(WAIT, found).await.ok().flatten();
        found.unwrap_or_else(|| panic!("{what} never came; this did: {passed:#?}"))
    }

    /// The next fact of a kind, with its place.
    async fn fact(&mut self, kind: &str) -> (Seq, Arc<Event>) {
        let is_it =
            |news: &UiUpdate| matches!(news, UiUpdate::Fact { event, .. } if event.kind() == kind);
        match self.until(kind, is_it).await {
            UiUpdate::Fact { seq, event, .. } => (seq, event),
            other => panic!("{other:?}"),
        }
    }

    async fn asked(&mut self) -> ApprovalId {
        match self.fact("approval.requested").await.1.as_ref() {
            Event::ApprovalRequested(asked) => asked.approval.clone(),
            other => panic!("{other:?}"),
        }
    }

    async fn decide(&self, approval: ApprovalId, decision: Decision, reason: Option<&str>) {
        let reason = reason.map(String::from);
        self.wish(UiCommand::Tell(PersonCommand::Decide(ApprovalAnswer {
            approval,
            decision,
            reason,
            terms: None,
        })))
        .await;
    }

    async fn finished(&mut self) -> RunStatus {
        match self.fact("run.finished").await.1.as_ref() {
            Event::RunFinished(finished) => finished.status,
            other => panic!("{other:?}"),
        }
    }

    async fn notice(&mut self, wanted: NoticeTone) -> String {
        let is_it =
            |news: &UiUpdate| matches!(news, UiUpdate::Notice { tone, .. } if *tone == wanted);
        match self.until("a notice", is_it).await {
            UiUpdate::Notice { text, .. } => text,
            other => panic!("{other:?}"),
        }
    }

    async fn listed(&mut self, wish: UiCommand) -> ListResult {
        self.wish(wish).await;
        match self.until("a list", |news| matches!(news, UiUpdate::Listed { .. })).await {
            UiUpdate::Listed { items, .. } => items,
            other => panic!("{other:?}"),
        }
    }

    fn id(&self) -> SessionId {
        self.session.clone().expect("a session is open")
    }

    /// Leaves; the other end gives everything back.
    async fn leave(mut self) {
        self.wish(UiCommand::Leave).await;
        let over = self.until("the end", |news| matches!(news, UiUpdate::Over(_))).await;
        assert_eq!(over, UiUpdate::Over(None));
        tokio::time::timeout(WAIT, self.served).await.expect("in time").expect("well");
    }
}
