//! Models whose servers took no tools with a request, kept in the installation, so that the next session begins with
//! the tools in the prompt (V5). Not here: what a session does when it finds that out (`weir-core`), and which words
//! of a server say so (`weir-providers`).

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use weir_core::model::{FailureClass, ModelInfo, ModelReply, ModelRequest};
use weir_core::record::sha256_hex;
use weir_core::view::plain::visible_text;
use weir_engine::blocking::run_blocking;
use weir_engine::ports::{
    AttachmentSupport, Conversation, MediaMap, Model, PreparedRequest, SignalSink,
};

use crate::context::InstallationContext;
use crate::files::{hold_lock, replace_file};

/// The file in the state folder.
const FILE: &str = "refused-tools.json";
/// Held while it is changed.
const LOCK: &str = "refused-tools.lock";
/// How long it is remembered, in seconds: a server that was started anew with other flags is tried again some day.
const KEPT_S: u64 = 30 * 24 * 60 * 60;
/// Most models that are remembered.
const MODELS_MAX: usize = 500;
/// Most bytes of the file that are read.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A model whose server took no tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RefusedModel {
    /// As `provider/name`.
    model: String,
    /// Where its server is, as a digest: an address may hold what nobody is to see.
    server: String,
    /// When that was found, in seconds since 1970.
    found_s: u64,
}

/// What is known of a model at `address`: with its tools in its prompt where its server took none before, which is
/// then said.
pub(super) fn with_refused_tools(
    cx: &InstallationContext,
    info: ModelInfo,
    address: &str,
) -> ModelInfo {
    if !info.has_ability("tools") {
        return info;
    }
    let name = info.model.to_string();
    let server = sha256_hex(address.as_bytes());
    let now = seconds_now();
    let known = read_list(&cx.dirs.state);
    let is_this = |one: &RefusedModel| one.model == name && one.server == server;
    if !known.iter().any(|one| is_this(one) && is_kept(one, now)) {
        return info;
    }
    let text = format!(
        "note: {name} is told its tools in its prompt, because its server took none with a request; `weir \
         models {} --probe` lets it be tried again",
        info.model.provider
    );
    cx.notify_once(&visible_text(&text));
    info.with_tools_in_prompt()
}

/// `model`, of which it is kept when its server takes no tools with a request.
pub(super) fn watch_model(
    cx: &InstallationContext,
    model: Arc<dyn Model>,
    address: &str,
) -> Arc<dyn Model> {
    let info = model.info();
    if !info.has_ability("tools") {
        return model;
    }
    let place = RefusalPlace {
        state: cx.dirs.state.clone(),
        model: info.model.to_string(),
        server: sha256_hex(address.as_bytes()),
    };
    Arc::new(WatchedModel { inner: model, place: Arc::new(place) })
}

/// Forgets what was found out about the models of a provider: they are tried again.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn forget_refused_tools(cx: &InstallationContext, provider: &str) -> anyhow::Result<()> {
    let is_of =
        |one: &RefusedModel| one.model.split_once('/').is_some_and(|(of, _)| of == provider);
    let state = &cx.dirs.state;
    // Nearly always there is nothing to forget, and nothing is written for that.
    if !read_list(state).iter().any(is_of) {
        return Ok(());
    }
    change_list(state, |list| list.retain(|one| !is_of(one)))
}

/// Where it is kept, and of which model.
struct RefusalPlace {
    state: PathBuf,
    model: String,
    server: String,
}

impl RefusalPlace {
    fn remember_refusal(&self) -> anyhow::Result<()> {
        let now = seconds_now();
        let (model, server) = (self.model.clone(), self.server.clone());
        let found = RefusedModel { model, server, found_s: now };
        change_list(&self.state, |list| {
            list.retain(|one| {
                is_kept(one, now) && !(one.model == found.model && one.server == found.server)
            });
            list.push(found);
            let surplus = list.len().saturating_sub(MODELS_MAX);
            list.drain(..surplus);
        })
    }
}

struct WatchedModel {
    inner: Arc<dyn Model>,
    place: Arc<RefusalPlace>,
}

impl Model for WatchedModel {
    fn info(&self) -> Arc<ModelInfo> {
        self.inner.info()
    }

    fn start_conversation(&self) -> Box<dyn Conversation> {
        let inner = self.inner.start_conversation();
        Box::new(WatchedConversation { inner, place: self.place.clone(), offers_tools: false })
    }
}

struct WatchedConversation {
    inner: Box<dyn Conversation>,
    place: Arc<RefusalPlace>,
    /// The request that was prepared last offers tools in the vendor's own way.
    offers_tools: bool,
}

#[async_trait]
impl Conversation for WatchedConversation {
    fn prepare(&mut self, request: &ModelRequest, media: &MediaMap) -> PreparedRequest {
        self.offers_tools = !request.tools.is_empty() && request.model.has_ability("tools");
        self.inner.prepare(request, media)
    }

    fn first_to_write(&self, request: &ModelRequest) -> usize {
        self.inner.first_to_write(request)
    }

    fn attachment_support(&self) -> AttachmentSupport {
        self.inner.attachment_support()
    }

    async fn send(&mut self, signals: &SignalSink) -> ModelReply {
        let reply = self.inner.send(signals).await;
        let refuses = matches!(reply, ModelReply::Failed { class: FailureClass::ToolsRefused, .. });
        if refuses && self.offers_tools {
            let place = self.place.clone();
            let kept = run_blocking(move || place.remember_refusal()).await;
            // The session goes on all the same; the next one finds it out again.
            if let Ok(Err(error)) = kept {
                tracing::warn!(%error, "that a server takes no tools could not be kept");
            }
        }
        reply
    }
}

fn change_list(state: &Path, change: impl FnOnce(&mut Vec<RefusedModel>)) -> anyhow::Result<()> {
    let _lock = hold_lock(&state.join(LOCK))?;
    let mut list = read_list(state);
    change(&mut list);
    replace_file(&state.join(FILE), &serde_json::to_vec_pretty(&list)?, 0o600)
}

/// What is kept. A file that is missing or that nobody understands is an empty list: it costs one refused request.
fn read_list(state: &Path) -> Vec<RefusedModel> {
    let Ok(file) = File::open(state.join(FILE)) else { return Vec::new() };
    let mut bytes = Vec::new();
    match file.take(FILE_BYTES_MAX).read_to_end(&mut bytes) {
        Ok(_) => serde_json::from_slice(&bytes).unwrap_or_default(),
        Err(_) => Vec::new(),
    }
}

/// Whether it still counts. What was found in the future was found with another clock.
fn is_kept(one: &RefusedModel, now_s: u64) -> bool {
    one.found_s <= now_s && now_s - one.found_s < KEPT_S
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(state: &Path, model: &str) -> RefusalPlace {
        RefusalPlace { state: state.to_owned(), model: model.into(), server: "here".into() }
    }

    #[test]
    fn v5_a_refusal_is_kept_once_for_each_model_and_for_a_while() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = folder.path();
        assert_eq!(read_list(state), []);
        for model in ["box/a", "box/b", "box/a"] {
            place(state, model).remember_refusal().expect("kept");
        }
        let names: Vec<String> = read_list(state).into_iter().map(|one| one.model).collect();
        assert_eq!(names, ["box/b", "box/a"]);
        let one = read_list(state).remove(0);
        let found_s = one.found_s;
        assert!(is_kept(&one, found_s) && is_kept(&one, found_s + KEPT_S - 1));
        assert!(!is_kept(&one, found_s + KEPT_S) && !is_kept(&one, found_s - 1));
        std::fs::write(state.join(FILE), "[{\"model\": 7}]").expect("written");
        assert_eq!(read_list(state), [], "what nobody understands is no list");
        place(state, "box/c").remember_refusal().expect("kept");
        assert_eq!(read_list(state).len(), 1);
    }

    #[test]
    fn v5_no_more_models_are_kept_than_the_bound() {
        let folder = tempfile::tempdir().expect("a folder");
        let list: Vec<RefusedModel> = (0..MODELS_MAX)
            .map(|number| RefusedModel {
                model: format!("box/{number}"),
                server: "here".into(),
                found_s: seconds_now(),
            })
            .collect();
        change_list(folder.path(), |kept| *kept = list).expect("written");
        place(folder.path(), "box/new").remember_refusal().expect("kept");
        let kept = read_list(folder.path());
        assert_eq!((kept.len(), kept[0].model.as_str()), (MODELS_MAX, "box/1"));
        assert_eq!(kept[MODELS_MAX - 1].model, "box/new");
    }
}
