//! Traces for others (F6, S15): what the engine journals, told as OpenTelemetry spans. Off unless
//! `telemetry.otlp_endpoint` is set, and then nothing of it is even built. Not the log and not the
//! journal: spans carry names, counts and times; content only if `telemetry.content` says so.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanLimits};
use tokio::runtime::Runtime;
use weir_engine::ports::ObserverList;
use weir_providers::transport::ModelTransport;

use crate::context::InstallationContext;
use crate::failure::usage;
use crate::models;

mod spans;

use spans::FactSpans;

/// How long the last spans may take to leave when the program ends.
const LAST_MS_MAX: u64 = 3_000;
/// Attributes of one span.
const ATTRIBUTES_MAX: u32 = 64;

/// The one pipeline of this process: tracing is started once, whatever is opened in it.
static PIPELINE: OnceLock<Option<TracePipeline>> = OnceLock::new();

struct TracePipeline {
    provider: SdkTracerProvider,
    spans: Arc<FactSpans>,
}

/// Those who measure what this program does; traces among them, where they are wanted.
///
/// # Errors
/// A usage error: the endpoint is no address.
pub fn program_observers(cx: &InstallationContext) -> anyhow::Result<Arc<ObserverList>> {
    let settings = &cx.config()?.settings.telemetry;
    if settings.otlp_endpoint.is_empty() {
        return Ok(cx.observers.clone());
    }
    if PIPELINE.get().is_none() {
        let pipeline = build_trace_pipeline(
            &settings.otlp_endpoint,
            settings.content,
            models::process_transport(cx),
        )?;
        let mut first = Some(pipeline);
        PIPELINE.get_or_init(|| first.take());
    }
    if let Some(Some(pipeline)) = PIPELINE.get() {
        cx.observers.add_once(pipeline.spans.clone());
    }
    Ok(cx.observers.clone())
}

/// Sends what is left. Waits a few seconds at most.
pub fn finish_telemetry() {
    let Some(Some(pipeline)) = PIPELINE.get() else { return };
    let ended = pipeline.provider.shutdown_with_timeout(Duration::from_millis(LAST_MS_MAX));
    if let Err(error) = ended {
        tracing::warn!(%error, "the last spans were not sent");
    }
}

fn build_trace_pipeline(
    endpoint: &str,
    content: bool,
    transport: Arc<ModelTransport>,
) -> anyhow::Result<TracePipeline> {
    let wrong = |why: &dyn std::fmt::Display| {
        usage(format!(
            "telemetry.otlp_endpoint {endpoint:?} cannot be used: {why}; write \
             http://127.0.0.1:4318"
        ))
    };
    let address = url::Url::parse(endpoint).map_err(|error| wrong(&error))?;
    if !matches!(address.scheme(), "http" | "https") {
        return Err(wrong(&"it is neither http nor https"));
    }
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(SpanSender::new(transport)?)
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
        .build()
        .map_err(|error| wrong(&error))?;
    let version = env!("CARGO_PKG_VERSION");
    let resource = Resource::builder()
        .with_service_name("weir")
        .with_attribute(KeyValue::new("service.version", version))
        .build();
    let limits = SpanLimits { max_attributes_per_span: ATTRIBUTES_MAX, ..SpanLimits::default() };
    let provider = SdkTracerProvider::builder()
        .with_resource(resource)
        .with_span_limits(limits)
        .with_batch_exporter(exporter)
        .build();
    let spans = Arc::new(FactSpans::new(provider.tracer("weir"), content));
    Ok(TracePipeline { provider, spans })
}

/// Sends spans the way models are asked: the same certificates and proxies. Has a thread of its
/// own, because spans are sent from one that is none of the program's.
struct SpanSender {
    runtime: Option<Runtime>,
    transport: Arc<ModelTransport>,
}

impl std::fmt::Debug for SpanSender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sender")
    }
}

impl SpanSender {
    fn new(transport: Arc<ModelTransport>) -> anyhow::Result<SpanSender> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(1)
            .thread_name("weir-traces")
            .enable_all()
            .build()?;
        Ok(SpanSender { runtime: Some(runtime), transport })
    }
}

impl Drop for SpanSender {
    fn drop(&mut self) {
        // Where it is dropped may not block, and nothing is under way any more.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[async_trait::async_trait]
impl HttpClient for SpanSender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let runtime = self.runtime.as_ref().ok_or("ended")?;
        let (parts, body) = request.into_parts();
        let address = url::Url::parse(&parts.uri.to_string())?;
        let transport = self.transport.clone();
        let sent = runtime.spawn(async move {
            let answer = transport.post(&address, parts.headers, body).await?;
            let status = answer.status;
            Ok::<_, HttpError>((status, answer.error_body().await))
        });
        let (status, body) = sent.await??;
        Ok(Response::builder().status(status).body(Bytes::from(body))?)
    }
}
