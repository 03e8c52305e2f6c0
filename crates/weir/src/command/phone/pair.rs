//! Pairing: the code is made by the person at the terminal, shown as a picture and as words, and it is waited
//! for the telephone. Not here: which address it opens (`address`).

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::Duration;

use futures::stream;
use weir_install::context::InstallationContext;
use weir_server::phone::{
    PAIRING_PATH, PairedPhone, PairingOffer, PairingProgress, PictureGround, render_half_blocks,
};
use weir_server::{App, HttpServer};

use super::address::{self, PhoneAddress};
use super::{choose_database, open_app, options_of_settings};
use crate::command::current_timestamp;
use crate::command::run::TerminationSignals;
use crate::command::serve::presence::{ServerPresence, find_presence, named_everywhere};
use crate::command::serve::{announce_server, metrics_token, server_presence};
use crate::failure::usage;
use crate::options::PhonePairArgs;
use crate::terminal::{err_message, out_line, out_picture_row};

/// How often it is looked whether a telephone came.
const LOOK_EVERY: Duration = Duration::from_millis(300);
/// Looks at a code that is gone until it counts as ended: it is taken a moment before its telephone is in.
const LOOKS_WHEN_GONE: usize = 10;

/// What is told of a telephone that is paired: until then nothing calls it.
const NEXT_STEP: &str = "Next, on the telephone or in any browser of yours: Notifications, Delivery settings. \
                         ntfy, Telegram, Matrix or a webhook tells you what waits, and push notifications \
                         do where the browser knows the certificate.";

/// Pairs one.
pub(super) async fn pair_telephone(
    cx: InstallationContext,
    args: PhonePairArgs,
) -> anyhow::Result<ExitCode> {
    let variable = |name| cx.environment.text_variable(name).unwrap_or_default();
    let account = match &args.account {
        Some(name) => name.clone(),
        None => account_name(variable("USER")),
    };
    let is_plain = !variable("NO_COLOR").is_empty() || variable("TERM") == "dumb";
    let wish = PairingWish { args, account, is_plain };
    match find_presence(&cx.dirs.state)? {
        Some(there) => pair_at_running(cx, &wish, &there).await,
        None if wish.args.show => Err(usage(
            "no server of this installation runs: `weir phone --lan` in another terminal is one, and \
             shows its own code",
        )),
        None => start_and_pair(cx, &wish).await,
    }
}

/// What the person wants.
struct PairingWish {
    args: PhonePairArgs,
    account: String,
    is_plain: bool,
}

/// The name of an account that is made now: the name of the user of this machine, as far as it can be.
fn account_name(user: &str) -> String {
    let name: String =
        user.to_ascii_lowercase().chars().filter(|c| c.is_ascii_alphanumeric()).collect();
    if name.is_empty() { "me".to_owned() } else { name.chars().take(32).collect() }
}

async fn offer(app: &App, wish: &PairingWish) -> anyhow::Result<PairingOffer> {
    let name = wish.args.name.as_deref().unwrap_or_default();
    app.offer_pairing(&wish.account, name).await.map_err(usage)
}

/// Another process is the server: its data is where the code is kept.
async fn pair_at_running(
    cx: InstallationContext,
    wish: &PairingWish,
    there: &ServerPresence,
) -> anyhow::Result<ExitCode> {
    let address = address::address_of_running(there, &wish.args)?;
    let said = &wish.args.database;
    if let (Some(said), Some(used)) = (&said.database, &there.database)
        && named_everywhere(said) != *used
    {
        return Err(usage(
            "the server that runs keeps its data in another database than --database says, and would \
             know nothing of the code: leave --database out",
        ));
    }
    let database = choose_database(&cx, said, Some(there))?;
    let options = options_of_settings(&cx)?;
    let app = open_app(cx, &database, options).await?;
    if wish.args.show {
        show_offer(&address, &offer(&app, wish).await?, wish)?;
        return Ok(ExitCode::SUCCESS);
    }
    wait_at_running(&app, wish, &address).await
}

/// It is waited until the telephone is paired or the code has ended.
async fn wait_at_running(
    app: &App,
    wish: &PairingWish,
    address: &PhoneAddress,
) -> anyhow::Result<ExitCode> {
    // From before the code is there: whoever ends the command takes it along.
    let mut signals = TerminationSignals::new()?;
    let offer = offer(app, wish).await?;
    show_offer(address, &offer, wish)?;
    tokio::select! {
        found = wait_for_telephone(app, &offer) => match found? {
            Some(phone) => {
                show_paired(&phone)?;
                Ok(ExitCode::SUCCESS)
            }
            None => {
                err_message("the code has ended and no telephone used it; run `weir phone` again");
                Ok(ExitCode::FAILURE)
            }
        },
        status = signals.next() => {
            app.withdraw_pairing(&offer.code).await.map_err(usage)?;
            Ok(ExitCode::from(status))
        }
    }
}

/// This process is the server, until it is ended. An account is made only when nothing else can fail any
/// more: with it the first setup in the browser is closed.
async fn start_and_pair(cx: InstallationContext, wish: &PairingWish) -> anyhow::Result<ExitCode> {
    let state = cx.dirs.state.clone();
    let variable = cx.config()?.settings.server.metrics_token_env.clone();
    let mut options = options_of_settings(&cx)?;
    options.metrics_token = metrics_token(&cx, &variable)?;
    let fingerprint =
        address::prepare_server(&mut options, &wish.args, &state, current_timestamp())?;
    let database = choose_database(&cx, &wish.args.database, None)?;
    let app = open_app(cx, &database, options).await?;
    if let Some(reason) = app.refuse_plain_listening() {
        return Err(usage(reason));
    }
    let signals = TerminationSignals::new()?;
    let server = HttpServer::bind(app.clone()).await.map_err(|error| usage(error.to_string()))?;
    let presence =
        ServerPresence { fingerprint, ..server_presence(&app, server.address(), &database) };
    let address = address::address_of_started(&app.options, &presence)?;
    // It makes the account without which nothing is served to other machines.
    let offer = offer(&app, wish).await?;
    if let Some(reason) = app.refuse_to_listen().await.map_err(usage)? {
        return Err(usage(reason));
    }
    let kept = announce_server(&state, &presence);
    show_offer(&address, &offer, wish)?;
    out_line(&who_serves_later(wish, &address))?;
    serve_until_ended(&app, &offer, StartedServer { server, signals }).await?;
    drop(kept);
    app.withdraw_pairing(&offer.code).await.map_err(usage)?;
    Ok(ExitCode::SUCCESS)
}

/// How a telephone that is paired reaches the server another time: it knows it by this address alone.
fn who_serves_later(wish: &PairingWish, address: &PhoneAddress) -> String {
    let later = match (wish.args.lan.is_some(), &wish.args.address) {
        (true, _) => {
            "Later `weir serve --lan` serves paired telephones too, as long as this machine has this \
             address."
                .to_owned()
        }
        (false, Some(_)) => format!(
            "Later `weir serve` with server.public_url = \"{}\" serves paired telephones too.",
            address.base
        ),
        (false, None) => "`weir serve` serves paired telephones too.".to_owned(),
    };
    format!("This command is the server; Ctrl-C ends it. {later}")
}

/// A server that listens and does not answer yet, and what ends it.
struct StartedServer {
    server: HttpServer,
    signals: TerminationSignals,
}

async fn serve_until_ended(
    app: &App,
    offer: &PairingOffer,
    started: StartedServer,
) -> anyhow::Result<()> {
    let StartedServer { server, signals } = started;
    let signals = stream::unfold(signals, |mut signals| async move {
        signals.next().await;
        Some(((), signals))
    });
    let watch = async {
        match wait_for_telephone(app, offer).await {
            Ok(Some(phone)) => show_paired(&phone)?,
            Ok(None) => {
                err_message("the code has ended; `weir phone` in another terminal shows a new one")
            }
            Err(error) => {
                err_message(&format!("it is not known whether a telephone came: {error}"))
            }
        }
        std::future::pending::<anyhow::Result<()>>().await
    };
    tokio::select! {
        () = server.run(signals) => Ok(()),
        failed = watch => failed,
    }
}

/// Waits for what comes of a code; `None`: it ended.
async fn wait_for_telephone(
    app: &App,
    offer: &PairingOffer,
) -> anyhow::Result<Option<PairedPhone>> {
    let mut gone = 0;
    loop {
        match app.pairing_progress(&offer.code).await.map_err(usage)? {
            PairingProgress::Paired(phone) => return Ok(Some(phone)),
            PairingProgress::Waiting => gone = 0,
            PairingProgress::Over if gone >= LOOKS_WHEN_GONE => return Ok(None),
            PairingProgress::Over => gone += 1,
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Shows the code: behind `#`, which browsers send nowhere. A picture that no telephone could follow is
/// shown only where it is wanted.
fn show_offer(
    address: &PhoneAddress,
    offer: &PairingOffer,
    wish: &PairingWish,
) -> anyhow::Result<()> {
    let page = format!("{}{PAIRING_PATH}", address.base);
    let whole = format!("{page}#{}", offer.code);
    match address.is_local && !wish.args.picture {
        true => out_line(
            "No QR code is shown: it would lead a telephone to itself (--picture shows it all the same).",
        )?,
        false => show_picture(&whole, wish.is_plain)?,
    }
    out_line(&format!("Open {whole}"))?;
    out_line(&format!("or open {page} and type the code {}", offer.code))?;
    for remark in &address.remarks {
        out_line(remark)?;
    }
    out_line("The code is good for one telephone and five minutes.")
}

/// Shows what a camera reads. Cameras want dark modules darker than light ones. A terminal with colours is
/// told both; else, in a pager too, nobody knows the ground: then it stands there twice, and the camera
/// takes the one that fits. Both say the same.
fn show_picture(text: &str, is_plain: bool) -> anyhow::Result<()> {
    let rows = |ground| render_half_blocks(text, ground).unwrap_or_default();
    if !is_plain && std::io::stdout().is_terminal() {
        return rows(PictureGround::Dark).iter().try_for_each(|row| out_picture_row(row));
    }
    for (ground, words) in [
        (PictureGround::Dark, "Where letters are light on a dark ground:"),
        (PictureGround::Light, "Where letters are dark on a light ground:"),
    ] {
        out_line(words)?;
        for row in rows(ground) {
            out_line(&row)?;
        }
    }
    Ok(())
}

fn show_paired(phone: &PairedPhone) -> anyhow::Result<()> {
    let PairedPhone { name, account, address, id, .. } = phone;
    out_line(&format!(
        "Paired: {name} of {account}, from {address}. If that is not your telephone: weir phone revoke {id}"
    ))?;
    out_line(NEXT_STEP)
}

#[cfg(test)]
mod tests {
    use super::account_name;

    #[test]
    fn r5_an_account_is_named_after_the_user() {
        for (user, name) in [("ann", "ann"), ("Ann.B", "annb"), ("", "me"), ("ÄÖ", "me")] {
            assert_eq!(account_name(user), name);
        }
    }
}
