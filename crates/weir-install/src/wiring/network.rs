//! The network of one program: the guarded client with the person's secrets, and the way out for
//! confined commands. Providers of models are not here.

use weir_web::{EgressBounds, EgressOptions, GuardedWeb, LocalEgress, WebOptions};

use crate::context::InstallationContext;
use crate::failure::usage;
use crate::secrets::{self, DeclaredSecret};

/// The guarded network.
pub fn guarded_web(cx: &InstallationContext) -> anyhow::Result<GuardedWeb> {
    web_with(cx, &secrets::load_declared_secrets(cx)?)
}

/// The same with secrets that were read before, so that what is sent is what the filter knows.
pub(super) fn web_with(
    cx: &InstallationContext,
    declared: &[DeclaredSecret],
) -> anyhow::Result<GuardedWeb> {
    let config = cx.config()?;
    let options = WebOptions {
        allow_hosts: config.settings.web.allow_hosts.clone(),
        secrets: declared.iter().map(|one| one.web.clone()).collect(),
        search: crate::search::search_engine(cx)?,
        ..WebOptions::default()
    };
    GuardedWeb::new(options)
        .map_err(|why| usage(format!("{}: {why}", config.origin_of_key("web.allow_hosts"))))
}

/// The way out for confined commands.
pub(super) fn command_egress(cx: &InstallationContext) -> anyhow::Result<LocalEgress> {
    let config = cx.config()?;
    let options = EgressOptions {
        dir: cx.dirs.state.join("egress"),
        allow_hosts: config.settings.web.allow_hosts.clone(),
        bounds: EgressBounds::default(),
    };
    LocalEgress::new(options)
        .map_err(|why| usage(format!("{}: {why}", config.origin_of_key("web.allow_hosts"))))
}
