//! What a route says that it takes and gives: its query, its body and its answers, by types that describe
//! themselves. The document of the API is made of it in tests (`openapi`). The program has that document as text
//! and keeps nothing of this. Not here: the route itself.

#[cfg(test)]
use schemars::{JsonSchema as HasSchema, Schema, SchemaGenerator};

use super::Route;

/// What describes itself in tests: everything, as the program does not ask.
#[cfg(not(test))]
pub(crate) trait HasSchema {}
#[cfg(not(test))]
impl<T> HasSchema for T {}

/// How a type describes itself.
#[cfg(test)]
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// One answer that a route gives.
#[cfg(test)]
#[derive(Clone)]
pub(crate) struct RouteAnswer {
    /// HTTP status.
    pub(crate) status: u16,
    /// Its body; `None`: there is none.
    pub(crate) body: Option<SchemaOf>,
    /// Media type of the body.
    pub(crate) media: &'static str,
}

/// What is told of one route.
#[cfg(test)]
#[derive(Clone)]
pub(crate) struct RouteContract {
    pub(crate) query: Option<SchemaOf>,
    pub(crate) body: Option<SchemaOf>,
    pub(crate) body_media: &'static str,
    pub(crate) body_required: bool,
    pub(crate) answers: Vec<RouteAnswer>,
}

#[cfg(test)]
impl Default for RouteContract {
    fn default() -> RouteContract {
        RouteContract {
            query: None,
            body: None,
            body_media: "application/json",
            body_required: true,
            answers: Vec::new(),
        }
    }
}

#[cfg(test)]
fn schema_of<T: HasSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

#[cfg(test)]
impl Route {
    /// Its query parameters: the fields of `T`.
    pub(crate) fn query<T: HasSchema>(mut self) -> Route {
        self.contract.query = Some(schema_of::<T>);
        self
    }

    /// Its body, as JSON.
    pub(crate) fn body<T: HasSchema>(mut self) -> Route {
        self.contract.body = Some(schema_of::<T>);
        self
    }

    /// Its body in another form than JSON.
    pub(crate) fn body_as<T: HasSchema>(mut self, media: &'static str) -> Route {
        self.contract.body_media = media;
        self.body::<T>()
    }

    /// Its body may be left out.
    pub(crate) fn body_optional(mut self) -> Route {
        self.contract.body_required = false;
        self
    }

    /// An answer with a JSON body.
    pub(crate) fn gives_json<T: HasSchema>(self, status: u16) -> Route {
        self.gives_as::<T>(status, "application/json")
    }

    /// An answer with a body in another form.
    pub(crate) fn gives_as<T: HasSchema>(mut self, status: u16, media: &'static str) -> Route {
        self.contract.answers.push(RouteAnswer { status, body: Some(schema_of::<T>), media });
        self
    }

    /// An answer without a body.
    pub(crate) fn gives_nothing(mut self, status: u16) -> Route {
        self.contract.answers.push(RouteAnswer { status, body: None, media: "" });
        self
    }
}

/// The same words where nobody makes the document.
#[cfg(not(test))]
impl Route {
    pub(crate) fn query<T: HasSchema>(self) -> Route {
        self
    }

    pub(crate) fn body<T: HasSchema>(self) -> Route {
        self
    }

    pub(crate) fn body_as<T: HasSchema>(self, _media: &'static str) -> Route {
        self
    }

    pub(crate) fn body_optional(self) -> Route {
        self
    }

    pub(crate) fn gives_json<T: HasSchema>(self, _status: u16) -> Route {
        self
    }

    pub(crate) fn gives_as<T: HasSchema>(self, _status: u16, _media: &'static str) -> Route {
        self
    }

    pub(crate) fn gives_nothing(self, _status: u16) -> Route {
        self
    }
}
