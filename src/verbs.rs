//! The operator's verbs: what a person asks a running server, or a data directory.
//!
//! Here: the command line's shape and which verb is whose; one file a verb, which holds both of its
//! ends: what is asked and printed, and what the server does for it. Not here: the socket between
//! them (`admin`). Called by `main` (client) and by `admin::listen` (server).

pub(crate) mod compact;
mod effect_name;
mod effects_awaiting;
mod effects_settle;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod gateway_verify;
pub(crate) mod import;
mod keys_create;
mod keys_list;
mod keys_revoke;
mod keys_rotate_signing;
mod place;
mod print;
mod salts_rotate;
pub(crate) mod show;
mod spaces_apply;
mod spaces_create;
mod spaces_history;
mod spaces_list;
mod table;
mod vault_set;
pub(crate) mod verify;

use clap::Subcommand;

use crate::admin::Admin;
use crate::admin::protocol::{Answered, No, Request};
use crate::exit::{HELP, Stop};

/// The keys of a running server.
#[derive(Debug, Subcommand)]
pub(crate) enum Keys {
    /// Makes a key and prints it, once.
    #[command(after_help = HELP)]
    Create(keys_create::Args),
    /// Lists keys without their text.
    #[command(after_help = HELP)]
    List(keys_list::Args),
    /// Turns a key off for good, from the next request on.
    #[command(after_help = HELP)]
    Revoke(keys_revoke::Args),
    /// Lets another key follow the one that signs contact tokens.
    #[command(after_help = HELP)]
    RotateSigning(keys_rotate_signing::Args),
}

/// The spaces of a running server.
#[derive(Debug, Subcommand)]
pub(crate) enum Spaces {
    /// Makes a space.
    #[command(after_help = HELP)]
    Create(spaces_create::Args),
    /// Lists spaces.
    #[command(after_help = HELP)]
    List(spaces_list::Args),
    /// Gives a space another coordination document, without a restart.
    #[command(after_help = HELP)]
    Apply(spaces_apply::Args),
    /// Lists the versions of a space's documents, who made them and why.
    #[command(after_help = HELP)]
    History(spaces_history::Args),
}

/// The secrets of the spaces of a running server.
#[derive(Debug, Subcommand)]
pub(crate) enum Vault {
    /// Sets a value, such as a gateway's key, from standard input.
    #[command(after_help = HELP)]
    Set(vault_set::Args),
}

impl Vault {
    /// Asks and prints.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(crate) fn run(&self) -> Result<(), Stop> {
        match self {
            Self::Set(args) => args.run(),
        }
    }
}

/// The salts of a running server's suppression lists.
#[derive(Debug, Subcommand)]
pub(crate) enum Salts {
    /// Gives a source another salt; its next page starts the list anew.
    #[command(after_help = HELP)]
    Rotate(salts_rotate::Args),
}

impl Salts {
    /// Asks and prints.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(crate) fn run(&self) -> Result<(), Stop> {
        match self {
            Self::Rotate(args) => args.run(),
        }
    }
}

/// The effects of a running server.
#[derive(Debug, Subcommand)]
pub(crate) enum Effects {
    /// Lists effects whose outcome nobody knows, oldest first.
    #[command(after_help = HELP)]
    Awaiting(effects_awaiting::Args),
    /// Says how an effect ended.
    #[command(after_help = HELP)]
    Settle(effects_settle::Args),
}

impl Effects {
    /// Asks and prints.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(crate) fn run(&self) -> Result<(), Stop> {
        match self {
            Self::Awaiting(args) => args.run(),
            Self::Settle(args) => args.run(),
        }
    }
}

impl Keys {
    /// Asks and prints.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(crate) fn run(&self) -> Result<(), Stop> {
        match self {
            Self::Create(args) => args.run(),
            Self::List(args) => args.run(),
            Self::Revoke(args) => args.run(),
            Self::RotateSigning(args) => args.run(),
        }
    }
}

impl Spaces {
    /// Asks and prints.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(crate) fn run(&self) -> Result<(), Stop> {
        match self {
            Self::Create(args) => args.run(),
            Self::List(args) => args.run(),
            Self::Apply(args) => args.run(),
            Self::History(args) => args.run(),
        }
    }
}

/// What the socket knows.
const KNOWN: &[&str] = &[
    effects_awaiting::NAME,
    effects_settle::NAME,
    explain::NAME,
    export::NAME,
    export::PROGRESS,
    keys_create::NAME,
    keys_list::NAME,
    keys_revoke::NAME,
    keys_rotate_signing::NAME,
    salts_rotate::NAME,
    show::NAME,
    spaces_apply::NAME,
    spaces_create::NAME,
    spaces_history::NAME,
    spaces_list::NAME,
    vault_set::NAME,
];

/// A verb's own name, if it is one of the socket's.
pub(crate) fn known(verb: &str) -> Option<&'static str> {
    KNOWN.iter().copied().find(|known| *known == verb)
}

/// Does what a request asks for.
pub(crate) async fn serve(admin: &Admin, request: &Request) -> Answered {
    match request.verb.as_str() {
        effects_awaiting::NAME => effects_awaiting::serve(admin, request.args()?).await,
        effects_settle::NAME => effects_settle::serve(admin, request.args()?).await,
        explain::NAME => explain::serve(admin, request.args()?).await,
        export::NAME => export::serve(admin, request.args()?),
        export::PROGRESS => export::progress(admin).await,
        salts_rotate::NAME => salts_rotate::serve(admin, request.args()?).await,
        show::NAME => show::serve(admin, request.args()?).await,
        keys_create::NAME => keys_create::serve(admin, request.args()?).await,
        keys_list::NAME => keys_list::serve(admin, request.args()?).await,
        keys_revoke::NAME => keys_revoke::serve(admin, request.args()?).await,
        keys_rotate_signing::NAME => keys_rotate_signing::serve(admin, request.args()?).await,
        spaces_apply::NAME => spaces_apply::serve(admin, request.args()?).await,
        spaces_create::NAME => spaces_create::serve(admin, request.args()?).await,
        spaces_history::NAME => spaces_history::serve(admin, request.args()?).await,
        spaces_list::NAME => spaces_list::serve(admin, request.args()?).await,
        vault_set::NAME => vault_set::serve(admin, request.args()?).await,
        _ => Err(No::Refused(format!(
            "the server knows no such verb; it knows {}",
            KNOWN.join(", ")
        ))),
    }
}
