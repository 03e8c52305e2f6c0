//! Making pictures from words (K13). Not here: how a model is asked for one, and what becomes of it.

use std::sync::Arc;

use async_trait::async_trait;
use weir_core::governance::label::Label;

use super::ModelUse;

/// How wide a picture is to how high.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureAspect {
    /// Parts of its width.
    pub width: u32,
    /// Parts of its height.
    pub height: u32,
}

impl std::fmt::Display for PictureAspect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.width, self.height)
    }
}

/// The formats of files that a picture may be asked for in. What comes is told by its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PictureFormat {
    /// Without loss.
    #[default]
    Png,
    /// For photographs.
    Jpeg,
    /// Small.
    Webp,
}

impl PictureFormat {
    /// The word in the media type.
    pub fn as_str(self) -> &'static str {
        match self {
            PictureFormat::Png => "png",
            PictureFormat::Jpeg => "jpeg",
            PictureFormat::Webp => "webp",
        }
    }
}

/// A picture that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PictureRequest {
    /// What is to be seen.
    pub prompt: String,
    /// `None`: as the model likes.
    pub aspect: Option<PictureAspect>,
    /// What it is to be stored as, where the vendor lets one choose.
    pub format: PictureFormat,
}

/// A picture that came.
#[derive(Debug, Clone, PartialEq)]
pub struct PictureReply {
    /// An image by its first bytes; nothing has read it yet.
    pub bytes: Arc<[u8]>,
    /// What the model said beside it.
    pub said: String,
    /// What it used.
    pub used: ModelUse,
}

/// A picture as a tool gets it.
#[derive(Debug, Clone, PartialEq)]
pub struct PictureAnswer {
    /// Name of the model, as `provider/name`.
    pub model: String,
    /// The picture.
    pub reply: PictureReply,
    /// The label of what it was asked for with.
    pub label: Label,
}

/// What is said where no model makes pictures.
pub const NO_PICTURE_MODEL: &str = "no model that makes pictures is set up. A person names one in the \
                                    user configuration: helpers.image = \"provider/name\"";

/// Why no picture came.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{why}")]
pub struct PictureError {
    /// A sentence for the model that asked: what failed, why, and what to try.
    pub why: String,
    /// It was asked all the same: what that used, as far as anybody knows.
    pub used: Option<ModelUse>,
}

/// A model that makes pictures. Asked once for each call; dropping the future closes the connection.
/// It never asks again by itself: a picture costs money whether it arrives or not.
#[async_trait]
pub trait PictureModel: Send + Sync {
    /// Its name, as people write it.
    fn model_name(&self) -> String;
    /// Makes one picture.
    ///
    /// # Errors
    /// None came: the vendor refused, failed, or sent what is no picture.
    async fn make_picture(&self, request: &PictureRequest) -> Result<PictureReply, PictureError>;
}
