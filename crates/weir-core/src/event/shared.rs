//! A fact of one kind that is shared with whoever has the event that it came in. Not here: the kinds.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use super::Event;

/// The fields of one kind of fact.
pub trait EventKind: Sized {
    /// Those of `event`; `None`: it is of another kind. Asked for by whoever keeps one kind only;
    /// it only looks.
    fn of_event(event: &Event) -> Option<&Self>;
}

/// A fact of one kind: shared, never copied.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedFact<F> {
    event: Arc<Event>,
    kind: PhantomData<F>,
}

impl<F: EventKind> SharedFact<F> {
    /// That of `event`; `None`: it is a fact of another kind.
    pub fn new(event: &Arc<Event>) -> Option<SharedFact<F>> {
        F::of_event(event)?;
        Some(SharedFact { event: event.clone(), kind: PhantomData })
    }

    /// The event that it came in.
    pub fn shared_event(&self) -> &Arc<Event> {
        &self.event
    }
}

impl<F: EventKind + Into<Event>> From<F> for SharedFact<F> {
    fn from(fields: F) -> SharedFact<F> {
        SharedFact { event: Arc::new(fields.into()), kind: PhantomData }
    }
}

impl<F: EventKind> Deref for SharedFact<F> {
    type Target = F;

    fn deref(&self) -> &F {
        F::of_event(&self.event).expect("one is made only of an event of its kind")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{CancelCause, CancelRequested, RunStarted};

    #[test]
    fn c6_a_shared_fact_is_of_its_kind_only() {
        let fields = CancelRequested { by: "ada".into(), cause: CancelCause::Cancelled };
        let event = Arc::new(Event::from(fields.clone()));
        let found = SharedFact::<CancelRequested>::new(&event).expect("it is of this kind");
        assert_eq!(*found, fields);
        assert!(Arc::ptr_eq(found.shared_event(), &event), "it is shared");
        assert_eq!(SharedFact::<RunStarted>::new(&event), None);
    }
}
