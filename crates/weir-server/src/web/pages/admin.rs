//! The server, for admins: what works, the limits that hold, backups (S15). People have a page of
//! their own.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use weir_core::ids::Timestamp;
use weir_install::maintenance::{BackupLine, Finding, Health};

use crate::api::admin::{self as api, Overview};
use crate::app::App;
use crate::guard::Caller;
use crate::problem::Answer;
use crate::route::{Access, Route};
use crate::web::parts::{badge, csrf, empty, moment, page};

/// The routes of this file.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/admin", show).access(Access::Admin),
        Route::post("/admin/backups", back_up).access(Access::Admin),
        Route::get("/admin/backups/{name}", api::download).access(Access::Admin),
        Route::post("/admin/backups/{name}/remove", remove).access(Access::Admin),
    ]
}

async fn show(State(app): State<App>, caller: Caller) -> Answer<Markup> {
    let overview = api::overview(&app).await;
    let backups = app.house.maintenance().list_backups().await?;
    let body = html! {
        h1 { "Server" }
        (findings(&overview.findings))
        (work(&overview))
        (limits(&overview))
        (backup_list(&caller, &backups, app.now()))
    };
    Ok(page(&caller, "Server", "/admin", &body))
}

fn word(health: Health) -> Markup {
    match health {
        Health::Good => badge("good", "good"),
        Health::Warn => badge("warn", "warning"),
        Health::Bad => badge("bad", "failing"),
    }
}

fn findings(findings: &[Finding]) -> Markup {
    let worst = findings.iter().map(|one| one.health).max().unwrap_or(Health::Good);
    html! {
        section.card.stack aria-labelledby="health" {
            h2 id="health" { "Health" }
            @match worst {
                Health::Good => p.notice.good { "Everything works." },
                Health::Warn => p.notice.warn { "Everything works, with warnings." },
                Health::Bad => p.notice.bad role="alert" {
                    "Something is not working. Runs stop before their next action until it is fixed."
                },
            }
            div.table-wrap tabindex="0" role="region" aria-label="Checks" {
                table {
                    caption.muted { "Checks" }
                    thead { tr { th scope="col" { "What" } th scope="col" { "Status" } th scope="col" { "More" } } }
                    tbody {
                        @for one in findings {
                            tr {
                                th scope="row" { (one.name) }
                                td { (word(one.health)) }
                                td { (one.says) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn work(overview: &Overview) -> Markup {
    html! {
        section.card.stack aria-labelledby="work" {
            h2 id="work" { "Now" }
            dl.kv {
                dt { "Active sessions" } dd { (overview.sessions) }
                dt { "Open connections" } dd { (overview.connections) }
                dt { "Version" } dd { (overview.version) }
            }
            p.row {
                a.btn href="/users" { "People" }
                a.btn href="/usage" { "Usage" }
                a.btn href="/audit" { "Audit" }
                a.btn href="/settings" { "Settings" }
            }
        }
    }
}

fn limits(overview: &Overview) -> Markup {
    let limits = &overview.limits;
    html! {
        section.card.stack aria-labelledby="limits" {
            h2 id="limits" { "Limits" }
            dl.kv {
                dt { "Connections, total" } dd { (limits.connections_max) }
                dt { "Connections per address" } dd { (limits.connections_per_address_max) }
                dt { "Requests per person per minute" } dd { (limits.requests_per_minute) }
                dt { "Grace period at shutdown" } dd { (limits.drain_ms_max / 1000) " s" }
            }
            p.muted {
                "They are set under " code { "[server]" } " in " code { "config.toml" }
                " and hold from the next start on."
            }
        }
    }
}

/// A size as people read it.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        1_000_000..1_000_000_000 => format!("{} MB", bytes.div_ceil(1_000_000)),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

fn backup_list(caller: &Caller, backups: &[BackupLine], now: Timestamp) -> Markup {
    html! {
        section.card.stack aria-labelledby="backups" {
            h2 id="backups" { "Backups" }
            p {
                "A backup holds journals, audit logs, checkpoints, accounts and settings of \
                 everybody. Keys are not in it, the one that seals second factors among them \
                 (" code { "weir backup --keys" } " includes them), nor are the folders that \
                 people work in. "
                code { "weir restore" } " restores it."
            }
            form method="post" action="/admin/backups" {
                (csrf(caller))
                button.btn.primary type="submit" { "Create backup" }
            }
            @if backups.is_empty() {
                (empty("No backups yet.", "A backup takes a few seconds and does not interrupt anyone."))
            } @else {
                div.table-wrap tabindex="0" role="region" aria-labelledby="backups" {
                    table {
                        caption.muted { "Newest first" }
                        thead {
                            tr {
                                th scope="col" { "Name" }
                                th scope="col" { "Made" }
                                th scope="col" { "Size" }
                                th scope="col" { "Remove" }
                            }
                        }
                        tbody { @for one in backups { (backup_row(caller, one, now)) } }
                    }
                }
            }
        }
    }
}

fn backup_row(caller: &Caller, one: &BackupLine, now: Timestamp) -> Markup {
    let address = format!("/admin/backups/{}", one.name);
    html! {
        tr {
            th scope="row" { a.mono href=(address) download=(one.name) { (one.name) } }
            td { (moment(one.made, now)) }
            td { (size(one.bytes)) }
            td {
                form method="post" action={ (address) "/remove" } {
                    (csrf(caller))
                    button.btn.danger type="submit" aria-label={ "Remove " (one.name) } { "Remove" }
                }
            }
        }
    }
}

async fn back_up(State(app): State<App>, caller: Caller) -> Answer<Response> {
    api::make(&app, &caller).await?;
    Ok(Redirect::to("/admin#backups").into_response())
}

async fn remove(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Answer<Response> {
    app.house.maintenance().remove_backup(&name).await?;
    tracing::info!(person = %caller.person.id, backup = name, "a backup is removed");
    Ok(Redirect::to("/admin#backups").into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s10_sizes_are_for_people() {
        assert_eq!(size(1), "1 kB");
        assert_eq!(size(1_500_000), "2 MB");
        assert_eq!(size(2_500_000_000), "2.5 GB");
    }
}
