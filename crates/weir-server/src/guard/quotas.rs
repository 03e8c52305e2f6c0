//! Counts each request against what its person or its address may ask for in a minute. Not here: how
//! much that is and how it comes back (`limits`).

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::caller::Caller;
use crate::limits::{ResponsePerson, network_of};
use crate::peer::ClientAddress;
use crate::problem::ProblemDetails;

/// Each request of somebody who is known counts against their own quota, whichever address, cookie
/// or token it came by. Inside the guard.
pub(crate) async fn per_person(State(app): State<App>, request: Request, next: Next) -> Response {
    let person = request.extensions().get::<Caller>().map(|caller| caller.person.id.0.clone());
    let Some(person) = person else { return next.run(request).await };
    let allowance = app.rates.people.take(person.clone(), app.current_time());
    let mut response = match allowance.allowed {
        true => next.run(request).await,
        false => allowance.refusal_response("person"),
    };
    allowance.write_headers(response.headers_mut(), "person");
    response.extensions_mut().insert(ResponsePerson { person });
    response
}

/// Requests of whoever is not known count against the quota of their address: guesses of tokens,
/// of links, of addresses that are not there. Outside of everything else.
pub(crate) async fn per_address(State(app): State<App>, request: Request, next: Next) -> Response {
    let Some(address) = request.extensions().get::<ClientAddress>().map(|one| one.ip) else {
        return ProblemDetails::internal_failure("a request without an address").into_response();
    };
    let address = network_of(address);
    let before = app.rates.addresses.peek(address, app.current_time());
    if !before.allowed {
        return before.refusal_response("address");
    }
    let response = next.run(request).await;
    if response.extensions().get::<ResponsePerson>().is_none() {
        app.rates.addresses.take(address, app.current_time());
    }
    response
}
