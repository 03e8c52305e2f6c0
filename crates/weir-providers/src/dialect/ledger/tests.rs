//! What sessions of one program keep together of their encoded requests. Not here: what dialects write
//! (`tests/wire`), and the laws of any history (`tests/it/histories`).

use weir_core::ids::TurnId;
use weir_core::model::ModelRef;

use super::*;

/// Writes the least that can be told apart.
struct PlainMessages(VendorQuirks);

impl RenderDialect for PlainMessages {
    const DIALECT: &'static str = "plain";

    fn quirks(&self) -> &VendorQuirks {
        &self.0
    }

    fn id_alphabet(&self) -> IdAlphabet {
        IdAlphabet::NineAlphanumeric
    }

    fn media_rules(&self) -> MediaRules {
        MediaRules {
            image_bytes_max: 0,
            document_bytes_max: 0,
            documents: false,
            assistant_images: false,
        }
    }

    fn write_head(&self, out: &mut Vec<u8>, request: &ModelRequest, _thinking: Thinking) {
        out.extend_from_slice(request.system.as_bytes());
        if self.0.prompt_cache_key {
            out.extend_from_slice(request.session.as_str().as_bytes());
        }
        out.push(b'[');
    }

    fn write_assistant(&self, out: &mut Vec<u8>, _said: &[AssistantPart<'_>]) {
        out.extend_from_slice(b"(said)");
    }

    fn write_user(
        &self,
        out: &mut Vec<u8>,
        _answers: &[CallResultPart<'_>],
        _parts: &[UserPart<'_>],
    ) -> GroupShape {
        out.extend_from_slice(b"(asked)");
        GroupShape::Closed
    }

    fn extend(
        &self,
        _out: &mut Vec<u8>,
        _shape: GroupShape,
        _parts: &[UserPart<'_>],
    ) -> Option<GroupShape> {
        None
    }

    fn close_group(&self, _out: &mut Vec<u8>, _shape: GroupShape) {}

    fn close_body(&self, out: &mut Vec<u8>) {
        out.push(b']');
    }
}

fn request(session: &str, system: &str) -> ModelRequest {
    let model = ModelRef { provider: "example".into(), name: "small".into() };
    ModelRequest {
        session: SessionId::new(session),
        turn: TurnId(1),
        model: Arc::new(ModelInfo::with_name(model)),
        system: system.into(),
        tools: Arc::default(),
        history: Arc::new(vec![Arc::new(Message::user(vec![MessageBlock::text("Hello")]))]),
        tail: None,
        thinking: Thinking::Off,
    }
}

fn encoded(quirks: &VendorQuirks, request: &ModelRequest) -> RequestBuffer<PlainMessages> {
    let mut encoder = RequestBuffer::new(PlainMessages(quirks.clone()));
    encoder.encode(request, &MediaMap::new());
    encoder
}

fn head_of(encoder: &RequestBuffer<PlainMessages>) -> &Arc<[u8]> {
    &encoder.head.as_ref().expect("it was encoded").bytes
}

#[test]
fn q19_what_stands_before_the_history_is_kept_once_for_sessions_with_the_same() {
    let quirks = VendorQuirks::default();
    let one = encoded(&quirks, &request("q19-1", "q19 Be brief."));
    let mut other = encoded(&quirks, &request("q19-2", "q19 Be brief."));
    assert!(Arc::ptr_eq(head_of(&one), head_of(&other)));
    assert_eq!(&*other.last_body(), b"q19 Be brief.[(asked)]");
    assert!(one.body.len() < 20, "the history alone: {}", one.body.len());

    let changed = other.encode(&request("q19-2", "q19 Be long."), &MediaMap::new());
    assert_eq!(&*other.last_body(), b"q19 Be long.[(asked)]");
    assert_eq!(changed.prefix_bytes, "q19 Be ".len() as u64);
    assert_eq!(changed.prefix_expected, "q19 Be brief.[(asked)".len() as u64);
    assert_eq!(&**head_of(&one), b"q19 Be brief.");
    assert!(!Arc::ptr_eq(head_of(&one), head_of(&other)));
}

#[test]
fn q19_a_head_that_names_its_session_is_kept_by_that_alone() {
    let quirks = VendorQuirks { prompt_cache_key: true, ..VendorQuirks::default() };
    let one = encoded(&quirks, &request("q19-3", "q19 Be kind."));
    let same = encoded(&quirks, &request("q19-3", "q19 Be kind."));
    assert!(!Arc::ptr_eq(head_of(&one), head_of(&same)));
    assert_eq!(&*one.last_body(), b"q19 Be kind.q19-3[(asked)]");
}
