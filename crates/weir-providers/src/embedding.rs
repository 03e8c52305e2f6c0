//! Vectors of texts from a model behind an HTTP endpoint: the shape of OpenAI, which Ollama, LM Studio and
//! most others answer to, and Gemini's. Not here: what vectors are for, and keeping them.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use weir_core::model::{ModelInfo, Usage};

use crate::http_model::{EndpointError, ModelEndpoint};
use crate::transport::{ModelTransport, TransportError};

/// Most texts of one request.
const BATCH_TEXTS_MAX: usize = 64;
/// Most characters of one request.
const BATCH_CHARS_MAX: usize = 60_000;
/// Most characters of one text: what is beyond says nothing that a vector would hold.
const TEXT_CHARS_MAX: usize = 6_000;
/// Largest answer.
const ANSWER_BYTES_MAX: usize = 32 << 20;
/// Most dimensions of a vector.
const DIMS_MAX: usize = 16_384;

/// A model that makes vectors.
pub struct EmbeddingModel {
    endpoint: ModelEndpoint,
    info: Arc<ModelInfo>,
    shape: EmbeddingShape,
    transport: Arc<ModelTransport>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EmbeddingShape {
    OpenAi,
    Gemini,
}

/// Vectors in the order of their texts, and what they cost.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TextVectors {
    /// One for each text.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens that the vendor counted.
    pub usage: Usage,
    /// `None`: nobody knows.
    pub cost_usd: Option<f64>,
}

/// Why a model makes no vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmbeddingError {
    /// Its vendor has no models for it.
    #[error("{provider} makes no vectors of texts; name a model of another provider")]
    Unfit {
        /// Name of the provider.
        provider: String,
    },
    /// It cannot be reached as configured.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// It did not answer, or not with vectors.
    #[error("{model} made no vectors: {why}")]
    Failed {
        /// The model, as `provider/name`.
        model: String,
        /// The reason, as the end of the sentence.
        why: String,
        /// Bytes of text that it may have worked on, and may be paid for.
        charged_bytes: usize,
    },
}

impl EmbeddingError {
    /// Bytes of text for which the vendor may charge all the same.
    pub fn charged_bytes(&self) -> usize {
        match self {
            EmbeddingError::Failed { charged_bytes, .. } => *charged_bytes,
            EmbeddingError::Unfit { .. } | EmbeddingError::Endpoint(_) => 0,
        }
    }
}

impl EmbeddingModel {
    /// The model that `info` names, at this endpoint.
    ///
    /// # Errors
    /// Its vendor makes no vectors, or cannot be reached as configured.
    pub fn new(
        endpoint: ModelEndpoint,
        info: Arc<ModelInfo>,
        transport: Arc<ModelTransport>,
    ) -> Result<EmbeddingModel, EmbeddingError> {
        let shape = match endpoint.find_dialect()?.name() {
            "gemini" => EmbeddingShape::Gemini,
            // Ollama answers this in OpenAI's words too.
            "openai-chat" | "openai-responses" | "ollama" => EmbeddingShape::OpenAi,
            _ => return Err(EmbeddingError::Unfit { provider: endpoint.vendor.name }),
        };
        Ok(EmbeddingModel { endpoint, info, shape, transport })
    }

    /// Its name, as people write it.
    pub fn model_name(&self) -> String {
        self.info.model.to_string()
    }

    /// The model, as its catalogue says.
    pub fn info(&self) -> &ModelInfo {
        &self.info
    }

    /// The vectors of `texts`, in as many requests as that takes.
    ///
    /// # Errors
    /// The first of the requests failed. Where a later one does, what was made until then is given
    /// back: the first vectors, and what they cost.
    pub async fn embed_texts(&self, texts: &[String]) -> Result<TextVectors, EmbeddingError> {
        let mut all = TextVectors::default();
        for batch in split_batches(texts) {
            let made = self.embed_batch(&batch).await;
            let (vectors, tokens) = match made {
                Ok(made) => made,
                Err(error) if all.vectors.is_empty() => return Err(error),
                Err(_) => break,
            };
            let length = |vectors: &[Vec<f32>]| vectors.first().map(Vec::len);
            if !all.vectors.is_empty() && length(&all.vectors) != length(&vectors) {
                let bytes = texts.iter().map(String::len).sum();
                return Err(self.charged_failure("its vectors have different lengths", bytes));
            }
            all.vectors.extend(vectors);
            all.usage.input += tokens;
        }
        // Who says nothing of tokens says nothing of what it costs.
        let price = self.info.price.filter(|_| all.usage.input > 0 || texts.is_empty());
        all.cost_usd = price.map(|price| price.input * all.usage.input as f64 / 1e6);
        Ok(all)
    }

    /// The vectors of one request, and the tokens that it took.
    async fn embed_batch(&self, batch: &[&str]) -> Result<(Vec<Vec<f32>>, u64), EmbeddingError> {
        let bytes = self.request_vectors(batch).await?;
        let wrong = |why: &str| self.charged_failure(why, count_bytes(batch));
        let answer = match self.shape {
            EmbeddingShape::OpenAi => serde_json::from_slice(&bytes).map(openai_vectors),
            EmbeddingShape::Gemini => serde_json::from_slice(&bytes).map(gemini_vectors),
        };
        let (rows, tokens) = answer.map_err(|_| wrong("its answer holds no vectors"))?;
        let vectors = order_vectors(rows, batch.len());
        Ok((vectors.ok_or_else(|| wrong("its answer holds no vectors"))?, tokens))
    }

    async fn request_vectors(&self, batch: &[&str]) -> Result<Vec<u8>, EmbeddingError> {
        let name = &self.info.model.name;
        let (path, body) = match self.shape {
            EmbeddingShape::OpenAi => {
                let body = OpenAiRequest { model: name, input: batch, encoding_format: "float" };
                ("/embeddings".to_owned(), serde_json::to_vec(&body))
            }
            EmbeddingShape::Gemini => {
                let model = format!("models/{name}");
                let request = |text: &&str| GeminiText {
                    model: model.clone(),
                    content: GeminiContent { parts: [GeminiPart { text: (*text).to_owned() }] },
                };
                let body = GeminiRequest { requests: batch.iter().map(request).collect() };
                (gemini_path(name), serde_json::to_vec(&body))
            }
        };
        let body = body.map_err(|_| self.scrubbed_failure("the texts cannot be sent"))?;
        let url = self.endpoint.url_for(&path)?;
        let headers = self.endpoint.request_headers()?;
        let broken = |error: TransportError| match error.class.may_be_charged() {
            true => self.charged_failure(&error.message, count_bytes(batch)),
            false => self.scrubbed_failure(&error.message),
        };
        let sent = self.transport.post(&url, headers, Bytes::from(body)).await;
        let response = sent.map_err(broken)?;
        if !(200..300).contains(&response.status) {
            let status = response.status;
            let said = String::from_utf8_lossy(&response.error_body().await).into_owned();
            let said: String = said.split_whitespace().collect::<Vec<_>>().join(" ");
            // Before it is cut: half a secret would not be known as one.
            let said: String = self.endpoint.scrub(&said).chars().take(300).collect();
            return Err(self.scrubbed_failure(&format!("status {status}: {said}")));
        }
        let bytes = response.whole_body(ANSWER_BYTES_MAX).await;
        let bytes = bytes.map_err(broken)?;
        bytes.ok_or_else(|| self.charged_failure("its answer is too long", count_bytes(batch)))
    }

    /// A failure without what must not be seen, for which nobody charges.
    fn scrubbed_failure(&self, why: &str) -> EmbeddingError {
        self.charged_failure(why, 0)
    }

    /// The same where the vendor had so many bytes of text and may charge for them.
    fn charged_failure(&self, why: &str, charged_bytes: usize) -> EmbeddingError {
        let (model, why) = (self.model_name(), self.endpoint.scrub(why));
        EmbeddingError::Failed { model, why, charged_bytes }
    }
}

fn count_bytes(batch: &[&str]) -> usize {
    batch.iter().map(|text| text.len()).sum()
}

fn gemini_path(name: &str) -> String {
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let name: String = name.chars().filter(plain).collect();
    format!("/v1beta/models/{name}:batchEmbedContents")
}

/// Texts in requests of bounded size. An empty text is asked for as a blank: every text has its vector.
fn split_batches(texts: &[String]) -> Vec<Vec<&str>> {
    let mut all: Vec<Vec<&str>> = Vec::new();
    let mut chars = 0;
    for text in texts {
        let end = text.char_indices().nth(TEXT_CHARS_MAX).map_or(text.len(), |(at, _)| at);
        let text = if text.trim().is_empty() { " " } else { &text[..end] };
        let length = text.chars().count();
        let full = all
            .last()
            .is_none_or(|batch| batch.len() >= BATCH_TEXTS_MAX || chars + length > BATCH_CHARS_MAX);
        if full {
            all.push(Vec::new());
            chars = 0;
        }
        chars += length;
        if let Some(batch) = all.last_mut() {
            batch.push(text);
        }
    }
    all
}

/// The vectors in the order of their texts; `None`: one is missing, or they have different lengths.
fn order_vectors(rows: Vec<VectorRow>, count: usize) -> Option<Vec<Vec<f32>>> {
    let mut vectors: Vec<Vec<f32>> = vec![Vec::new(); count];
    for (at, row) in rows.into_iter().enumerate() {
        if let Some(place) = vectors.get_mut(row.index.unwrap_or(at)) {
            *place = row.embedding;
        }
    }
    let dims = vectors.first().map_or(0, Vec::len);
    let whole = (1..=DIMS_MAX).contains(&dims) && vectors.iter().all(|one| one.len() == dims);
    whole.then_some(vectors)
}

fn openai_vectors(answer: OpenAiAnswer) -> (Vec<VectorRow>, u64) {
    (answer.data, answer.usage.unwrap_or_default().prompt_tokens.unwrap_or_default())
}

fn gemini_vectors(answer: GeminiAnswer) -> (Vec<VectorRow>, u64) {
    let row = |GeminiVector { values }| VectorRow { index: None, embedding: values };
    let used = answer.usage.unwrap_or_default().prompt_token_count.unwrap_or_default();
    (answer.embeddings.into_iter().map(row).collect(), used)
}

/// A vector of an answer.
#[derive(Debug, Deserialize)]
struct VectorRow {
    /// The text that it is of; none: that at its own place.
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

#[derive(Debug, Serialize)]
struct OpenAiRequest<'a> {
    model: &'a str,
    input: &'a [&'a str],
    encoding_format: &'static str,
}

#[derive(Debug, Deserialize)]
struct OpenAiAnswer {
    data: Vec<VectorRow>,
    #[serde(default)]
    usage: Option<OpenAiUsage>,
}

#[derive(Debug, Default, Deserialize)]
struct OpenAiUsage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
}

#[derive(Debug, Serialize)]
struct GeminiRequest {
    requests: Vec<GeminiText>,
}

#[derive(Debug, Serialize)]
struct GeminiText {
    model: String,
    content: GeminiContent,
}

#[derive(Debug, Serialize)]
struct GeminiContent {
    parts: [GeminiPart; 1],
}

#[derive(Debug, Serialize)]
struct GeminiPart {
    text: String,
}

#[derive(Debug, Deserialize)]
struct GeminiAnswer {
    embeddings: Vec<GeminiVector>,
    #[serde(default, rename = "usageMetadata")]
    usage: Option<GeminiUsage>,
}

#[derive(Debug, Deserialize)]
struct GeminiVector {
    values: Vec<f32>,
}

#[derive(Debug, Default, Deserialize)]
struct GeminiUsage {
    #[serde(default, rename = "promptTokenCount")]
    prompt_token_count: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k6_texts_are_sent_in_bounded_requests() {
        let sizes =
            |texts: &[String]| split_batches(texts).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(sizes(&vec!["a".to_owned(); 130]), [64, 64, 2]);
        assert_eq!(sizes(&vec!["ü".repeat(50_000); 12]), [10, 2]);
        assert_eq!(split_batches(&[String::new()]), [[" "]]);
        assert!(split_batches(&[]).is_empty());
    }

    #[test]
    fn k6_vectors_are_read_in_the_order_of_their_texts() {
        let openai = |text: &str| {
            let (rows, tokens) = serde_json::from_str(text).map(openai_vectors).ok()?;
            Some((order_vectors(rows, 2)?, tokens))
        };
        let both = r#"{"data": [{"index": 1, "embedding": [0, 1.5]}, {"index": 0, "embedding": [2,
            0]}], "usage": {"prompt_tokens": 7, "total_tokens": 7}}"#;
        assert_eq!(openai(both), Some((vec![vec![2.0, 0.0], vec![0.0, 1.5]], 7)));
        let plain = r#"{"data": [{"embedding": [1]}, {"embedding": [2]}]}"#;
        assert_eq!(openai(plain), Some((vec![vec![1.0], vec![2.0]], 0)));
        for wrong in [
            "{}",
            r#"{"data": []}"#,
            r#"{"data": [{"embedding": [1]}]}"#,
            r#"{"data": [{"embedding": [1]}, {"embedding": [1, 2]}]}"#,
            r#"{"data": [{"embedding": []}, {"embedding": []}]}"#,
            r#"{"data": [{"embedding": ["a"]}, {"embedding": [1]}]}"#,
        ] {
            assert_eq!(openai(wrong), None, "{wrong}");
        }
        let gemini =
            r#"{"embeddings": [{"values": [1]}], "usageMetadata": {"promptTokenCount": 3}}"#;
        let (rows, tokens) = serde_json::from_str(gemini).map(gemini_vectors).expect("an answer");
        assert_eq!((order_vectors(rows, 1), tokens), (Some(vec![vec![1.0]]), 3));
    }

    #[test]
    fn k6_a_name_of_a_model_stays_one_piece_of_the_path() {
        assert_eq!(
            gemini_path("gemini-embedding-001/../x?key=1"),
            "/v1beta/models/gemini-embedding-001..xkey1:batchEmbedContents"
        );
    }
}
