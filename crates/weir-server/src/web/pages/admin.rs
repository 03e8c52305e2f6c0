//! The server, for admins: what works, the limits that hold, backups (S15). People have a page of
//! their own.

use axum::extract::State;
use maud::{Markup, html};
use weir_core::ids::Timestamp;
use weir_install::maintenance::{BackupLine, HealthFinding, HealthLevel};

use crate::api::admin::{self as api, ServerOverview};
use crate::app::App;
use crate::caller::Caller;
use crate::problem::HandlerResult;
use crate::route::{Route, RouteAccess};
use crate::web::controls::{ButtonLook, post_form, submit_button};
use crate::web::parts::{framed_page, render_badge, render_empty, render_moment};

/// The routes of this file.
pub(crate) fn admin_page_routes() -> Vec<Route> {
    vec![
        Route::get("/admin", show_server).access(RouteAccess::Admin),
        Route::post("/admin/backups", api::back_up).access(RouteAccess::Admin),
        Route::get("/admin/backups/{name}", api::download_backup).access(RouteAccess::Admin),
        Route::post("/admin/backups/{name}/remove", api::remove).access(RouteAccess::Admin),
    ]
}

async fn show_server(State(app): State<App>, caller: Caller) -> HandlerResult<Markup> {
    let overview = api::server_overview(&app).await;
    let backups = app.installation.maintenance().list_backups().await?;
    let body = html! {
        h1 { "Server" }
        (render_findings(&overview.findings))
        (render_activity(&overview))
        (render_limits(&overview))
        (backup_list(&caller, &backups, app.current_time()))
    };
    Ok(framed_page(&caller, "Server", "/admin", &body))
}

fn health_badge(health: HealthLevel) -> Markup {
    match health {
        HealthLevel::Good => render_badge("good", "good"),
        HealthLevel::Warn => render_badge("warn", "warning"),
        HealthLevel::Bad => render_badge("bad", "failing"),
    }
}

fn render_findings(findings: &[HealthFinding]) -> Markup {
    let worst = findings.iter().map(|one| one.health).max().unwrap_or(HealthLevel::Good);
    html! {
        section.card.stack aria-labelledby="health" {
            h2 id="health" { "Health" }
            @match worst {
                HealthLevel::Good => p.notice.good { "Everything works." },
                HealthLevel::Warn => p.notice.warn { "Everything works, with warnings." },
                HealthLevel::Bad => p.notice.bad role="alert" {
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
                                td { (health_badge(one.health)) }
                                td { (one.says) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn render_activity(overview: &ServerOverview) -> Markup {
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

fn render_limits(overview: &ServerOverview) -> Markup {
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
fn size_text(bytes: u64) -> String {
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
            (post_form(caller, "/admin/backups", "", &html! {
                (submit_button(ButtonLook::Primary, "Create backup"))
            }))
            @if backups.is_empty() {
                (render_empty("No backups yet.", "A backup takes a few seconds and does not interrupt anyone."))
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
            td { (render_moment(one.made, now)) }
            td { (size_text(one.bytes)) }
            td {
                (post_form(caller, html! { (address) "/remove" }, "", &html! {
                    button.btn.danger type="submit" aria-label={ "Remove " (one.name) } { "Remove" }
                }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s10_sizes_are_for_people() {
        assert_eq!(size_text(1), "1 kB");
        assert_eq!(size_text(1_500_000), "2 MB");
        assert_eq!(size_text(2_500_000_000), "2.5 GB");
    }
}
