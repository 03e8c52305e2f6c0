//! Search by meaning over a workspace: its texts in one index that lives with the workspace, made at the
//! first need and kept among what is derived from its files. Not here: how files get into the index
//! (`reading`), how passages are found (`weir-meaning`).

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use weir_core::governance::filter::redact_text;
use weir_core::tool::PathEffect;
use weir_engine::blocking::run_blocking;
use weir_engine::helper::estimate_usage;
use weir_engine::ports::{
    FileContent, FoundPassage, MeaningAnswer, MeaningQuestion, MeaningScope, MeaningSearch,
    ModelUse, ProgressSink,
};
use weir_engine::workspace::{EntryKind, Workspace, WorkspaceEntry};
use weir_meaning::{
    MeaningHit, MeaningIndex, MeaningQuery, PassageKey, RankWeights, TextPassage, TrainingSettings,
    find_passage, split_passages,
};
use weir_providers::embedding::{EmbeddingModel, TextVectors};

use super::helper_endpoint::helper_endpoint;
use super::vector_cache::VectorCache;
use crate::context::InstallationContext;

mod reading;
#[cfg(test)]
mod tests;

use reading::{FILE_BYTES_MAX, is_left_out};

/// The index among what is derived from the files of a workspace.
const INDEX_FILE: &str = "meaning.index";
/// Hits beyond those that are wanted: some may not be shown in this session.
const SPARE_HITS: usize = 40;
/// Most passages that one call has vectors made of; the next goes on.
const EMBEDDED_MAX: usize = 2_000;
/// Which vectors are compared.
const OWN_VECTORS: &str = "vectors computed from these texts themselves";

/// The index of a workspace, which lives as long as it does.
#[derive(Default)]
struct HeldIndex(Mutex<OpenIndex>);

/// An index and the vectors of a model for it.
#[derive(Default)]
struct OpenIndex {
    /// None: not read from the disk yet.
    index: Option<MeaningIndex>,
    /// Vectors of the model, and its name; none: not read yet.
    cache: Option<(String, VectorCache)>,
    /// The index has the vectors of the model.
    has_outside: bool,
}

/// Search by meaning.
pub(crate) struct WorkspaceMeaning {
    /// Where the vectors of a model are kept: a text that stands in several workspaces is sent once.
    folder: PathBuf,
    /// What makes vectors; none: the texts themselves do.
    model: Option<EmbeddingModel>,
    /// Words that never leave.
    secrets: Vec<String>,
}

impl WorkspaceMeaning {
    /// A search that keeps vectors of `model`, where there is one, below `state`. `secrets` are taken
    /// out of what it is sent.
    pub(crate) fn new(
        state: &Path,
        model: Option<EmbeddingModel>,
        secrets: Vec<String>,
    ) -> WorkspaceMeaning {
        WorkspaceMeaning { folder: state.join("meaning"), model, secrets }
    }

    /// Vectors of the question and of passages that have none. Texts go to the model that a person
    /// named, and to no other, within the bounds of the call that searches (R11).
    async fn embed_texts(
        &self,
        model: &EmbeddingModel,
        words: &str,
        missing: &[MissingVector],
        scope: &MeaningScope<'_>,
    ) -> Result<TextVectors, FailedVectors> {
        let texts = std::iter::once(words).chain(missing.iter().map(|one| one.text.as_str()));
        let texts: Vec<String> =
            texts.map(|text| redact_text(text, &self.secrets).into_owned()).collect();
        let estimated = estimate_usage(texts.iter().map(String::len).sum(), 0);
        let cancelled = || FailedVectors::from("the search was cancelled".to_owned());
        let reserved = tokio::select! {
            biased;
            () = scope.cancel.cancelled() => return Err(cancelled()),
            reserved = scope.bounds.reserve_input(model.info(), estimated.input) => reserved?,
        };
        let made = tokio::select! {
            biased;
            // Nobody says what it used: it counts as the most until the call is over.
            () = scope.cancel.cancelled() => return Err(cancelled()),
            made = model.embed_texts(&texts) => made,
            // It never ends.
            () = reserved.keep() => return Err(cancelled()),
        };
        match made {
            Ok(mut made) => {
                if made.usage.is_nothing() {
                    (made.usage, made.cost_usd) = (estimated, model.info().cost(&estimated));
                }
                let mut used = ModelUse { usage: made.usage, cost_usd: made.cost_usd };
                reserved.settle(Some(&mut used)).await;
                made.cost_usd = used.cost_usd;
                Ok(made)
            }
            Err(error) => {
                let bytes = error.charged_bytes();
                let mut used = (bytes > 0).then(|| {
                    let usage = estimate_usage(bytes, 0);
                    ModelUse { usage, cost_usd: model.info().cost(&usage) }
                });
                reserved.settle(used.as_mut()).await;
                Err(FailedVectors { why: error.to_string(), used })
            }
        }
    }
}

/// Why a model made no vectors, and what it used all the same.
struct FailedVectors {
    why: String,
    used: Option<ModelUse>,
}

impl From<String> for FailedVectors {
    fn from(why: String) -> FailedVectors {
        FailedVectors { why, used: None }
    }
}

#[async_trait]
impl MeaningSearch for WorkspaceMeaning {
    async fn search_workspace(
        &self,
        workspace: &Arc<Workspace>,
        question: MeaningQuestion,
        scope: &MeaningScope<'_>,
    ) -> Result<MeaningAnswer, String> {
        let held = workspace.derived_value::<HeldIndex>();
        let search = Arc::new(WorkspaceSearch {
            workspace: workspace.clone(),
            question,
            folder: self.folder.clone(),
            model: self.model.as_ref().map(EmbeddingModel::model_name),
            progress: scope.progress.clone(),
            cancel: scope.cancel.clone(),
        });
        let mut state =
            on_index(&held, &search, |search, open| search.prepare_index(open)).await??;
        let Some(model) = &self.model else {
            return on_index(&held, &search, |search, open| {
                search.answer_question(open, state, None)
            })
            .await;
        };
        let words = &search.question.words;
        let (made, used) = match self.embed_texts(model, words, &state.missing, scope).await {
            Ok(made) => (Some(made), None),
            Err(FailedVectors { why, used }) => {
                state.notes.push(format!("{why}; {OWN_VECTORS} were compared instead"));
                (None, used)
            }
        };
        let answer =
            on_index(&held, &search, |search, open| search.answer_question(open, state, made));
        let mut answer = answer.await?;
        answer.used = answer.used.or(used);
        Ok(answer)
    }
}

/// Works with the index away from the loop's thread.
async fn on_index<T: Send + 'static>(
    held: &Arc<HeldIndex>,
    search: &Arc<WorkspaceSearch>,
    work: impl FnOnce(&WorkspaceSearch, &mut OpenIndex) -> T + Send + 'static,
) -> Result<T, String> {
    let (held, search) = (held.clone(), search.clone());
    let done = run_blocking(move || {
        let mut open = held.0.lock().unwrap_or_else(PoisonError::into_inner);
        work(&search, &mut open)
    });
    done.await.map_err(|_| "the search failed; try it again".to_owned())
}

/// A passage that the model made no vector of yet.
struct MissingVector {
    digest: u64,
    text: String,
}

/// One search.
struct WorkspaceSearch {
    workspace: Arc<Workspace>,
    question: MeaningQuestion,
    /// Where vectors are kept.
    folder: PathBuf,
    /// Name of the model that makes vectors.
    model: Option<String>,
    progress: ProgressSink,
    cancel: CancellationToken,
}

/// How current an index is.
#[derive(Default)]
struct IndexState {
    /// Texts came, changed or went.
    changed: bool,
    /// Texts are as they were, and files have other sizes or times.
    restamped: bool,
    left: usize,
    /// Passages whose vectors are to be made now.
    missing: Vec<MissingVector>,
    notes: Vec<String>,
}

/// Passages of files as they stand there now; none of a file that may not be seen.
type CurrentPassages = HashMap<String, Vec<TextPassage>>;

impl WorkspaceSearch {
    /// Brings the index up to date and says what it lacks.
    fn prepare_index(&self, open: &mut OpenIndex) -> Result<IndexState, String> {
        let mut is_stale = false;
        let index = open.index.get_or_insert_with(|| {
            let kept = self.workspace.read_derived(INDEX_FILE);
            let index = kept.as_deref().and_then(MeaningIndex::from_bytes);
            is_stale = kept.is_some() && index.is_none();
            index.unwrap_or_default()
        });
        let mut state = self.bring_up_to_date(index)?;
        // What nobody reads any more does not stay on the disk: it may have words that are left out today.
        state.changed |= is_stale;
        if state.changed {
            open.has_outside = false;
            index.refresh_vectors(&TrainingSettings::default());
        }
        if (state.changed || state.restamped)
            && let Err(error) = self.workspace.replace_derived(INDEX_FILE, &index.to_bytes())
        {
            tracing::warn!(%error, "the index of texts cannot be kept");
        }
        if let Some(model) = &self.model {
            let known = open.cache.take().filter(|(name, _)| name == model);
            let (_, cache) = known.unwrap_or_else(|| {
                // The index has vectors of another model: those cannot be compared with this one's.
                open.has_outside = false;
                (model.clone(), VectorCache::read_cache(&self.folder, model))
            });
            self.note_missing(index, &cache, &mut state);
            open.cache = Some((model.clone(), cache));
        }
        Ok(state)
    }

    /// Finds the passages that have no vector of the model.
    fn note_missing(&self, index: &MeaningIndex, cache: &VectorCache, state: &mut IndexState) {
        let (mut seen, mut files, mut left) = (HashSet::new(), CurrentPassages::new(), 0);
        for key in index.passage_keys() {
            if cache.text_vector(key.digest).is_some() || !seen.insert(key.digest) {
                continue;
            }
            if state.missing.len() == EMBEDDED_MAX {
                left += 1;
                continue;
            }
            let Some(passage) = self.current_passage(&mut files, key) else { continue };
            let text = format!("{}\n{}", passage.headings.join(" > "), passage.text);
            let text = text.trim().to_owned();
            state.missing.push(MissingVector { digest: key.digest, text });
        }
        if left > 0 {
            state.notes.push(format!(
                "{left} passages have no vector yet and are found by words alone; later searches \
                 find more"
            ));
        }
    }

    /// Answers from the index, with the vectors that were made for this question.
    fn answer_question(
        &self,
        open: &mut OpenIndex,
        state: IndexState,
        made: Option<TextVectors>,
    ) -> MeaningAnswer {
        let used =
            made.as_ref().map(|made| ModelUse { usage: made.usage, cost_usd: made.cost_usd });
        let asked = made.and_then(|made| self.take_vectors(open, &state, made));
        let Some(index) = &mut open.index else { return MeaningAnswer::default() };
        let below = |name: &str| is_below(name, &self.question.folder);
        let hits = index.find_passages(&MeaningQuery {
            words: &self.question.words,
            limit: self.question.limit + SPARE_HITS,
            weights: RankWeights::MEASURED,
            vector: asked.as_deref(),
            keep: &below,
        });
        let mut files = CurrentPassages::new();
        let passages = hits.iter().filter_map(|hit| self.shown_passage(&mut files, hit));
        let vectors = match (&asked, &self.model) {
            (Some(_), Some(model)) => format!("vectors of {model}"),
            (Some(_) | None, _) => OWN_VECTORS.to_owned(),
        };
        MeaningAnswer {
            passages: passages.take(self.question.limit).collect(),
            vectors,
            used,
            files: index.source_stamps().filter(|(name, _)| below(name)).count(),
            files_left: state.left,
            notes: state.notes,
        }
    }

    /// Keeps the vectors that a model made; the first of them is the question's.
    fn take_vectors(
        &self,
        open: &mut OpenIndex,
        state: &IndexState,
        made: TextVectors,
    ) -> Option<Vec<f32>> {
        let index = open.index.as_mut()?;
        // Between the two halves of a search another session may have put its own model's in.
        let (_, cache) =
            open.cache.as_mut().filter(|(name, _)| Some(name) == self.model.as_ref())?;
        let mut vectors = made.vectors;
        let asked = (!vectors.is_empty()).then(|| vectors.remove(0));
        let digests: Vec<u64> = state.missing.iter().map(|one| one.digest).collect();
        if let Err(error) = cache.keep_vectors(&digests, &vectors) {
            tracing::warn!(%error, "vectors of texts cannot be kept");
        }
        if !open.has_outside || !digests.is_empty() {
            index.set_outside_vectors(cache.dimension_count(), &|digest| cache.text_vector(digest));
            open.has_outside = true;
        }
        asked
    }

    /// A hit as it stands in its file now; none: this session may not see it, or it is gone.
    fn shown_passage(&self, files: &mut CurrentPassages, hit: &MeaningHit) -> Option<FoundPassage> {
        let key = PassageKey { source: &hit.source, number: hit.number, digest: hit.digest };
        let passage = self.current_passage(files, key)?;
        Some(FoundPassage {
            path: hit.source.clone(),
            headings: passage.headings.clone(),
            line: passage.line,
            column: passage.column,
            last_line: passage.last_line,
            text: passage.text.clone(),
            words: hit.scores.words,
            vectors: hit.scores.vectors,
            links: hit.scores.links,
        })
    }

    /// The passage that was indexed, found again by what it says: several may stand in one line.
    fn current_passage<'a>(
        &self,
        files: &'a mut CurrentPassages,
        key: PassageKey<'_>,
    ) -> Option<&'a TextPassage> {
        if !files.contains_key(key.source) {
            files.insert(key.source.to_owned(), self.read_passages(key.source));
        }
        find_passage(files.get(key.source)?, key.number, key.digest)
    }

    /// The passages of a file; none: this session may not see it.
    fn read_passages(&self, path: &str) -> Vec<TextPassage> {
        // As an entry of a walk, which the rules of this session judge too, whoever made the index, and
        // which is read without following a link.
        let at = self.workspace.effect_of_entry(&WorkspaceEntry {
            path: path.to_owned(),
            kind: EntryKind::File,
            bytes: 0,
            modified: 0,
            changed_ns: 0,
        });
        if is_closed(&at) {
            return Vec::new();
        }
        match self.workspace.read(&at, FILE_BYTES_MAX) {
            Ok(FileContent::File { bytes, .. }) => {
                let text = String::from_utf8_lossy(&bytes);
                // Whatever the index that names it was made of.
                if is_left_out(path, &text) { Vec::new() } else { split_passages(&text) }
            }
            Ok(_) | Err(_) => Vec::new(),
        }
    }
}

/// Whether a file is hidden, or asks a person before it is read.
fn is_closed(at: &PathEffect) -> bool {
    at.ignored.is_some() || at.sensitive.is_some()
}

fn is_below(name: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    folder.is_empty()
        || name == folder
        || name.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// The model that makes vectors of texts, where the settings name one.
///
/// # Errors
/// It cannot be asked: what is missing.
pub(super) fn embedding_model(cx: &InstallationContext) -> anyhow::Result<Option<EmbeddingModel>> {
    let name = &cx.config()?.settings.helpers.embed;
    let Some(helper) = helper_endpoint(cx, "helpers.embed", name)? else { return Ok(None) };
    helper.connect(cx, EmbeddingModel::new).map(Some)
}
