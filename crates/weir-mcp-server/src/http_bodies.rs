//! Bodies of requests and answers over HTTP: one that is read whole, one that is already there, and several
//! that are sent as one. Not here: what stands in them.

use std::convert::Infallible;
use std::fmt::Display;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::{Buf as _, Bytes, BytesMut};
use http::StatusCode;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;

/// A body that is all there.
pub(crate) struct WholeBody(Option<Bytes>);

impl WholeBody {
    pub(crate) fn new(bytes: impl Into<Bytes>) -> WholeBody {
        WholeBody(Some(bytes.into()))
    }
}

impl Body for WholeBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}

/// A body whose frames are those of others, as they come: an event of a stream is one frame, so that none is
/// torn by one of another.
pub struct AnswerBody {
    parts: Vec<Pin<Box<dyn Body<Data = Bytes, Error = Infallible> + Send>>>,
    /// Held until it is sent, or nobody reads it any more.
    _permit: Option<OwnedSemaphorePermit>,
}

impl AnswerBody {
    pub(crate) fn of_one(
        body: impl Body<Data = Bytes, Error = Infallible> + Send + 'static,
    ) -> AnswerBody {
        AnswerBody { parts: vec![Box::pin(body)], _permit: None }
    }

    /// All of them, in no order; `permit` is given back at their end.
    pub(crate) fn of_several(bodies: Vec<AnswerBody>, permit: OwnedSemaphorePermit) -> AnswerBody {
        let parts = bodies.into_iter().flat_map(|body| body.parts).collect();
        AnswerBody { parts, _permit: Some(permit) }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let parts = &mut self.parts;
        let mut at = 0;
        while let Some(part) = parts.get_mut(at) {
            match part.as_mut().poll_frame(cx) {
                Poll::Ready(Some(frame)) => {
                    // The others come first next time: one that never rests keeps none of them back.
                    parts.rotate_left(at + 1);
                    return Poll::Ready(Some(frame));
                }
                Poll::Ready(None) => drop(parts.remove(at)),
                Poll::Pending => at += 1,
            }
        }
        match parts.is_empty() {
            true => Poll::Ready(None),
            false => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.parts.iter().all(|part| part.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        match self.parts.as_slice() {
            [] => SizeHint::with_exact(0),
            [one] => one.size_hint(),
            _ => SizeHint::default(),
        }
    }
}

/// All bytes of a body; a larger one than `bytes_max` is refused.
///
/// # Errors
/// The status to answer with, and why.
pub(crate) async fn read_body<B>(body: B, bytes_max: usize) -> Result<Bytes, (StatusCode, String)>
where
    B: Body + Send + 'static,
    B::Error: Display,
{
    let mut body = pin!(body);
    let mut read = BytesMut::new();
    loop {
        let frame = match poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            None => return Ok(read.freeze()),
            Some(Ok(frame)) => frame,
            Some(Err(error)) => {
                let why = format!("the request could not be read: {error}");
                return Err((StatusCode::BAD_REQUEST, why));
            }
        };
        let Ok(mut data) = frame.into_data() else { continue };
        if data.remaining() > bytes_max.saturating_sub(read.len()) {
            let why = format!("the request is larger than {bytes_max} bytes");
            return Err((StatusCode::PAYLOAD_TOO_LARGE, why));
        }
        while data.has_remaining() {
            let length = data.chunk().len();
            read.extend_from_slice(data.chunk());
            data.advance(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a body says, frame by frame.
    async fn frames(body: AnswerBody) -> Vec<Bytes> {
        let mut body = pin!(body);
        let mut all = Vec::new();
        while let Some(Ok(frame)) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            all.extend(frame.into_data());
        }
        all
    }

    #[tokio::test]
    async fn r2_several_bodies_are_sent_as_one_until_the_last_of_them_ends() {
        let limit = std::sync::Arc::new(tokio::sync::Semaphore::new(1));
        let permit = limit.clone().try_acquire_owned().expect("one is free");
        let bodies = ["a", "b", "c"].map(|text| AnswerBody::of_one(WholeBody::new(text)));
        let body = AnswerBody::of_several(bodies.into(), permit);
        assert_eq!(limit.available_permits(), 0);
        assert_eq!(frames(body).await, ["a", "b", "c"]);
        assert_eq!(limit.available_permits(), 1, "it was sent");
    }

    #[tokio::test]
    async fn r2_a_body_is_read_up_to_its_limit() {
        assert_eq!(read_body(WholeBody::new("12345"), 5).await, Ok(Bytes::from("12345")));
        let (status, _) = read_body(WholeBody::new("123456"), 5).await.expect_err("too large");
        assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    }
}
