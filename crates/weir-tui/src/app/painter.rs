//! How the app is painted: as a screen, or as lines that are printed once (line mode). State, commands
//! and acts are the same; only what a command shows is each painter's own. Not here: the painting
//! (`crate::screen`, `crate::plain`).

use weir_core::ids::Timestamp;

use super::App;
use super::notes::Loud;
use crate::compose::WrittenMessage;
use crate::link::{DecisionRequest, ReportKind};
use crate::options::{FaceOptions, Motion};
use crate::screen::open;
use crate::text::theme::Theme;

/// Who paints the app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AppPainter {
    /// A whole terminal: screens lie over the chat, and what comes back goes into the box.
    Screen,
    /// Lines: what is to be shown waits until it is printed.
    Lines,
}

/// What a command shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ShownView {
    /// Keys and commands.
    Help,
    /// The models that can be chosen.
    Models,
    /// The profiles that can be chosen.
    Profiles,
    /// How much the model may think.
    Thinking,
    /// The themes that there are.
    Themes,
    /// The sessions in which these words stand.
    Sessions(String),
    /// Back to an earlier message.
    Rewind,
    /// A text of the other end, and what follows the command's name.
    Report(ReportKind, String),
    /// What is to be decided, and the question whether to do it.
    Decision(DecisionRequest),
    /// How the session stands.
    Status(String),
    /// What the clipboard holds goes with the next message.
    Clipboard,
    /// A line that is to be read at leisure.
    Remark(Loud, String),
    /// The run is to end.
    Stop,
    /// What asks, again.
    AskAgain,
    /// All of what asks.
    WholeAsk,
    /// The person leaves.
    Leave,
}

impl App {
    /// An app that is painted as lines. `name` begins the names of the messages that it sends.
    pub(crate) fn for_lines(name: &str, first: Option<String>, now: Timestamp) -> App {
        let options = FaceOptions { motion: Motion::Still, first, ..FaceOptions::default() };
        let mut app = App::new(&options, Theme::plain_theme(), now);
        app.painter = AppPainter::Lines;
        app.sender = Some(name.to_owned());
        app.set_named();
        app
    }

    /// Shows it, as its painter does.
    pub(crate) fn show_view(&mut self, view: ShownView) {
        if self.painter == AppPainter::Lines {
            self.views.push(view);
            return;
        }
        let screen = match view {
            ShownView::Help => open::help_screen(),
            ShownView::Models => open::models_screen(),
            ShownView::Profiles => open::profiles_screen(),
            ShownView::Thinking => open::thinking_screen(),
            ShownView::Themes => open::themes_screen(&self.fold.settings.theme),
            ShownView::Sessions(words) => open::sessions_screen(&words, self.now),
            ShownView::Rewind => open::rewind_screen(),
            ShownView::Report(report, arguments) => open::report_screen(report, &arguments),
            ShownView::Decision(request) => open::decision_screen(request),
            ShownView::Status(text) => open::text_screen("Status", text),
            ShownView::Clipboard => return self.ask_clipboard(),
            ShownView::Remark(loud, text) => return self.fold.add_note(loud, text, self.now),
            ShownView::Stop => return self.interrupt_run(),
            ShownView::Leave => return self.leave(),
            // A screen shows what asks until it is answered.
            ShownView::AskAgain | ShownView::WholeAsk => return,
        };
        self.open_screen(screen);
    }

    /// What is to be shown, once: only where lines are painted does anything wait.
    pub(crate) fn take_views(&mut self) -> Vec<ShownView> {
        std::mem::take(&mut self.views)
    }

    /// What is of use to a screen alone is forgotten: what would go to its scrollback, what its
    /// terminal would do, and a hint that goes by itself.
    pub(crate) fn drop_screen_output(&mut self) {
        self.fold.prints.clear();
        self.acts.clear();
        self.hint = None;
    }

    /// What could not be sent goes back into the box, where there is one; a line that was typed stands
    /// where it was typed.
    pub(crate) fn give_back(&mut self, written: &WrittenMessage) {
        if self.painter == AppPainter::Screen {
            self.composer.give_back(written);
        }
    }

    /// What ends a command of the person's own.
    pub(super) fn stop_key(&self) -> &'static str {
        match self.painter {
            AppPainter::Screen => "Esc",
            AppPainter::Lines => "Ctrl-C",
        }
    }
}
