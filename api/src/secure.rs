//! The server over TLS.
//!
//! Here: the same routes and bounds as in the clear, behind a TLS acceptor, one protocol above it:
//! HTTP/1.1. Not here: certificates, keys and versions of TLS, which the root package brings as a
//! finished configuration. Called by [`server`](crate::server::server) only.
//!
//! A handshake gets three seconds, and a worker has at most 256 of them under way; further
//! connections wait until one of them ends.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix_http::{HttpService, KeepAlive, Request};
use actix_server::Server;
use actix_service::{IntoServiceFactory, ServiceFactory, ServiceFactoryExt, map_config};
use actix_web::body::BoxBody;
use actix_web::dev::{AppConfig, ServiceResponse};
use rustls::ServerConfig;

use crate::limits::ListenOptions;

/// Binds the addresses and builds the server, as [`server`](crate::server::server) does.
///
/// # Errors
/// An address cannot be bound.
pub(crate) fn server<F, I, S>(
    app: F,
    options: &ListenOptions,
    tls: &Arc<ServerConfig>,
) -> io::Result<(Server, Vec<SocketAddr>)>
where
    F: Fn() -> I + Send + Clone + 'static,
    I: IntoServiceFactory<S, Request>,
    S: ServiceFactory<
            Request,
            Config = AppConfig,
            Response = ServiceResponse<BoxBody>,
            Error = actix_web::Error,
            InitError = (),
        > + 'static,
{
    let mut builder = Server::build()
        .workers(options.workers)
        .backlog(options.backlog)
        .max_concurrent_connections(options.connections_per_worker_max)
        .shutdown_timeout(options.shutdown_s_max)
        .disable_signals();
    let mut bound = Vec::new();
    for address in &options.addresses {
        let listener = listen(*address, options.backlog)?;
        bound.push(listener.local_addr()?);
        let stopping = builder.graceful_shutdown_signal();
        let (app, tls, bounds) = (app.clone(), Arc::clone(tls), options.clone());
        builder = builder.listen("https", listener, move || {
            let stopping = stopping.clone();
            let service = HttpService::build()
                .secure()
                .graceful_shutdown_signal(move || {
                    let stopping = stopping.clone();
                    async move { stopping.notified().await }
                })
                .keep_alive(KeepAlive::Timeout(Duration::from_secs(bounds.keep_alive_s)))
                .client_request_timeout(Duration::from_millis(bounds.head_read_ms_max))
                .client_disconnect_timeout(Duration::from_millis(bounds.disconnect_ms_max))
                .h1_allow_half_closed(false);
            let routes = app().into_factory().map_err(|error| error.error_response());
            service
                .h1(map_config(routes, |()| AppConfig::default()))
                .rustls_0_23(tls.as_ref().clone())
        })?;
    }
    Ok((builder.run(), bound))
}

/// Listens with a queue of this length in the system.
fn listen(address: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => tokio::net::TcpSocket::new_v4()?,
        SocketAddr::V6(_) => tokio::net::TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(backlog)?.into_std()
}
