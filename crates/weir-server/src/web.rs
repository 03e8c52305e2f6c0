//! The browser's side: pages made here, and a few small scripts (S10 to S13).

use crate::route::Route;

pub(crate) mod assets;
mod controls;
mod pages;
pub(crate) mod parts;
pub(crate) mod side;

pub(crate) use pages::shared_entries;

/// Every page, and what pages load.
pub(crate) fn web_routes() -> Vec<Route> {
    let mut all = pages::page_routes();
    all.extend(assets::asset_routes());
    all
}
