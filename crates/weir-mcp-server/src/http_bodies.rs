//! Bodies of requests and answers over HTTP: one that is read whole, one that is already there, and several
//! that are sent as one. Not here: what stands in them.

use std::collections::VecDeque;
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
#[derive(Default)]
pub struct AnswerBody {
    parts: Vec<Pin<Box<dyn Body<Data = Bytes, Error = Infallible> + Send>>>,
    /// What came before anybody could be sent it.
    early: VecDeque<Frame<Bytes>>,
    /// Held until it is sent, or nobody reads it any more.
    _permit: Option<OwnedSemaphorePermit>,
}

impl AnswerBody {
    pub(crate) fn of_one(
        body: impl Body<Data = Bytes, Error = Infallible> + Send + 'static,
    ) -> AnswerBody {
        AnswerBody { parts: vec![Box::pin(body)], ..AnswerBody::default() }
    }

    /// Has the frames of another one come too, in no order.
    pub(crate) fn add(&mut self, other: AnswerBody) {
        self.parts.extend(other.parts);
        self.early.extend(other.early);
    }

    /// The same, which gives `permit` back at its end.
    pub(crate) fn with_permit(self, permit: OwnedSemaphorePermit) -> AnswerBody {
        AnswerBody { _permit: Some(permit), ..self }
    }

    /// The same as `done`. What comes meanwhile is read and kept: who sends it would wait for a reader.
    pub(crate) async fn read_during<T>(&mut self, done: impl Future<Output = T>) -> T {
        let mut done = pin!(done);
        poll_fn(|cx| {
            let polled = done.as_mut().poll(cx);
            if polled.is_ready() {
                return polled;
            }
            while let Poll::Ready(Some(Ok(frame))) = self.poll_parts(cx) {
                self.early.push_back(frame);
            }
            Poll::Pending
        })
        .await
    }

    /// The next frame that comes.
    fn poll_parts(
        &mut self,
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
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(frame) = self.early.pop_front() {
            return Poll::Ready(Some(Ok(frame)));
        }
        self.poll_parts(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.early.is_empty() && self.parts.iter().all(|part| part.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        if !self.early.is_empty() {
            return SizeHint::default();
        }
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
    use std::time::Duration;

    use tokio::sync::mpsc;
    use tokio::time::timeout;

    use super::*;

    /// A body of what is sent by a channel.
    struct SentBody(mpsc::Receiver<Bytes>);

    impl Body for SentBody {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            self.0.poll_recv(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
        }
    }

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
        let mut body = AnswerBody::default();
        for text in ["a", "b", "c"] {
            body.add(AnswerBody::of_one(WholeBody::new(text)));
        }
        let body = body.with_permit(permit);
        assert_eq!(limit.available_permits(), 0);
        assert_eq!(frames(body).await, ["a", "b", "c"]);
        assert_eq!(limit.available_permits(), 1, "it was sent");
    }

    #[tokio::test]
    async fn r2_what_comes_before_a_body_is_sent_is_read_and_kept() {
        let (sender, receiver) = mpsc::channel(1);
        let mut body = AnswerBody::of_one(SentBody(receiver));
        // There is room for one: without a reader the second would wait for ever.
        let given_on = async move {
            for text in ["a", "b", "c"] {
                sender.send(Bytes::from(text)).await.expect("it is read");
            }
        };
        let done = timeout(Duration::from_secs(60), body.read_during(given_on)).await;
        assert_eq!(done, Ok(()));
        assert!(!body.is_end_stream());
        assert_eq!(frames(body).await, ["a", "b", "c"]);
    }

    #[tokio::test]
    async fn r2_a_body_is_read_up_to_its_limit() {
        assert_eq!(read_body(WholeBody::new("12345"), 5).await, Ok(Bytes::from("12345")));
        let (status, _) = read_body(WholeBody::new("123456"), 5).await.expect_err("too large");
        assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    }
}
