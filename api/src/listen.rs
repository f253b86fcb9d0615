//! How the server listens: in the clear or over TLS, HTTP/1.1 either way.
//!
//! Here: the same routes and bounds on connections for both, over streams that are [`Paced`]. Not here:
//! the routes (`server`), and certificates, keys and versions of TLS, which the root package brings as
//! a finished configuration. Called by [`server`](crate::server::server) only.
//!
//! A handshake gets three seconds, and a worker has at most 256 of them under way; further
//! connections wait until one of them ends.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use actix_http::error::DispatchError;
use actix_http::{HttpService, KeepAlive, Request};
use actix_server::{GracefulShutdownSignal, Server};
use actix_service::{
    IntoServiceFactory, ServiceFactory, ServiceFactoryExt, fn_service, map_config,
};
use actix_tls::accept::TlsError;
use actix_tls::accept::rustls_0_23::{Acceptor, TlsStream};
use actix_web::body::BoxBody;
use actix_web::dev::{AppConfig, ServiceResponse};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::limits::ListenOptions;
use crate::pace::Paced;

/// Binds the addresses and builds the server, as [`server`](crate::server::server) does.
///
/// # Errors
/// An address cannot be bound.
pub(crate) fn server<F, I, S>(
    app: F,
    options: &ListenOptions,
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
    let stalled_max = Duration::from_millis(options.answer_stalled_ms_max);
    for address in &options.addresses {
        let listener = listen(*address, options.backlog)?;
        bound.push(listener.local_addr()?);
        let stopping = builder.graceful_shutdown_signal();
        let (app, bounds) = (app.clone(), options.clone());
        builder = match &options.tls {
            None => builder.listen("http", listener, move || {
                fn_service(move |stream: TcpStream| async move {
                    let peer = stream.peer_addr().ok();
                    at_once(&stream);
                    Ok((Paced::new(stream, stalled_max), peer))
                })
                .and_then(http(app(), &bounds, &stopping))
            })?,
            Some(tls) => {
                let tls = tls.clone();
                builder.listen("https", listener, move || {
                    Acceptor::new(tls.as_ref().clone())
                        .map_err(TlsError::into_service_error)
                        .map(move |stream: TlsStream<TcpStream>| {
                            let tcp = stream.get_ref().0;
                            let peer = tcp.peer_addr().ok();
                            at_once(tcp);
                            (Paced::new(stream, stalled_max), peer)
                        })
                        .and_then(http(app(), &bounds, &stopping).map_err(TlsError::Service))
                })?
            }
        };
    }
    Ok((builder.run(), bound))
}

/// The last piece of an answer does not wait until the client has confirmed those before it. A stream
/// that cannot be set so works all the same.
fn at_once(stream: &TcpStream) {
    stream.set_nodelay(true).ok();
}

/// HTTP over streams, with the bounds on one connection.
fn http<T, I, S>(
    app: I,
    bounds: &ListenOptions,
    stopping: &GracefulShutdownSignal,
) -> impl ServiceFactory<
    (Paced<T>, Option<SocketAddr>),
    Config = (),
    Response = (),
    Error = DispatchError,
    InitError = (),
> + use<T, I, S>
where
    T: AsyncRead + AsyncWrite + Unpin + 'static,
    I: IntoServiceFactory<S, Request>,
    S: ServiceFactory<
            Request,
            Config = AppConfig,
            Response = ServiceResponse<BoxBody>,
            Error = actix_web::Error,
            InitError = (),
        > + 'static,
{
    let stopping = stopping.clone();
    let mut service = HttpService::build();
    if bounds.tls.is_some() {
        service = service.secure();
    }
    let routes = app.into_factory().map_err(|error| error.error_response());
    service
        .graceful_shutdown_signal(move || {
            let stopping = stopping.clone();
            async move { stopping.notified().await }
        })
        .keep_alive(KeepAlive::Timeout(Duration::from_secs(bounds.keep_alive_s)))
        .client_request_timeout(Duration::from_millis(bounds.head_read_ms_max))
        .client_disconnect_timeout(Duration::from_millis(bounds.disconnect_ms_max))
        // A client that has gone gets nothing decided any more.
        .h1_allow_half_closed(false)
        .on_connect_ext(|stream: &Paced<T>, known| {
            known.insert(stream.connection().clone());
        })
        .h1(map_config(routes, |()| AppConfig::default()))
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
