//! The model that makes pictures in a scenario: it answers by the words that it is asked with, and dies
//! with the program like any other. Not here: what is made of an answer.

use std::sync::Arc;

use async_trait::async_trait;
use weir_core::model::{Price, Usage};
use weir_engine::ports::{ModelUse, PictureError, PictureModel, PictureReply, PictureRequest};

use crate::crash::CrashPoint;
use crate::made;
use crate::parse::Setup;

/// What one picture uses.
const USED: Usage = Usage { input: 12, output: 1_000, cache_read: 0, cache_write: 0, reasoning: 0 };

struct FakePictures {
    /// `(words, answer)`: the first whose words stand in the prompt.
    answers: Vec<(String, String)>,
    /// What its answers cost; absent: nobody knows.
    price: Option<Price>,
    point: Arc<CrashPoint>,
}

/// The model, where the scenario has one; it costs what the session's own costs.
pub fn picture_model(setup: &Setup, point: &Arc<CrashPoint>) -> Option<Arc<dyn PictureModel>> {
    let price = |(input, output)| Price { input, output, cache_read: 0.0, cache_write: 0.0 };
    let model = || {
        Arc::new(FakePictures {
            answers: setup.pictures.clone(),
            price: setup.price.map(price),
            point: point.clone(),
        }) as Arc<dyn PictureModel>
    };
    (!setup.pictures.is_empty()).then(model)
}

impl FakePictures {
    async fn answer(&self, request: &PictureRequest) -> Result<PictureReply, PictureError> {
        let cost = |price: Price| {
            (price.input * USED.input as f64 + price.output * USED.output as f64) / 1e6
        };
        let used = ModelUse { usage: USED, cost_usd: self.price.map(cost) };
        let failed = |why: &str, used: Option<ModelUse>| {
            Err(PictureError { why: format!("{} made no picture: {why}", self.model_name()), used })
        };
        let fitting = self.answers.iter().find(|(words, _)| request.prompt.contains(words));
        let answer = fitting.map_or("fails", |(_, answer)| answer.as_str());
        let bytes = match answer.split_once(' ').unwrap_or((answer, "")) {
            ("png", size) => {
                let sides = size.split_once(' ').unwrap_or((size, size));
                let side = |text: &str| text.trim().parse().unwrap_or(1);
                made::png(side(sides.0), side(sides.1))
            }
            ("page", _) => b"<html>an error of a gateway</html>".to_vec(),
            ("damaged", _) => b"\x89PNG\r\n\x1a\nand nothing more".to_vec(),
            ("refuses", _) => {
                let why = "the provider's safety rules refused it; describe something else, or tell \
                           the person";
                return failed(why, None);
            }
            ("hangs", _) => std::future::pending().await,
            _ => return failed("the provider is out", None),
        };
        Ok(PictureReply { bytes: bytes.into(), said: String::new(), used })
    }
}

#[async_trait]
impl PictureModel for FakePictures {
    fn model_name(&self) -> String {
        "scenario/painter".into()
    }

    async fn make_picture(&self, request: &PictureRequest) -> Result<PictureReply, PictureError> {
        self.point.cross().await;
        let reply = self.answer(request).await;
        self.point.cross().await;
        reply
    }
}
