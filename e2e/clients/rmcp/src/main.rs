//! rmcp, the Rust SDK, in its lifecycle modes. The protocol with the driver is in drive.mjs.

use std::{env, error::Error, io, time::Duration};

use rmcp::{
    RoleClient,
    handler::client::ClientHandler,
    model::{CallToolRequestParams, CustomNotification, ProtocolVersion, ReadResourceRequestParams, SubscriptionFilter},
    service::{ClientLifecycleMode, ClientServiceExt, NotificationContext, RunningService},
    transport::{
        AuthClient, StreamableHttpClientTransport, TokioChildProcess,
        auth::{AuthorizationRequest, OAuthState},
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

type Failure = Box<dyn Error + Send + Sync>;
type Client = RunningService<RoleClient, Alarm>;

/// Passes the identifiers of fired alerts on.
#[derive(Clone)]
struct Alarm(mpsc::Sender<String>);

impl ClientHandler for Alarm {
    async fn on_custom_notification(&self, notification: CustomNotification, _: NotificationContext<RoleClient>) {
        if notification.method == "notifications/alert_triggered"
            && let Some(id) = notification.params.and_then(|p| Some(p.get("alert_id")?.as_str()?.to_owned()))
        {
            let _ = self.0.send(id).await; // nobody waits any more
        }
    }
}

/// Asks the driver for something that a client cannot do, and waits for it.
fn request(message: Value) -> Result<Value, Failure> {
    println!("{message}");
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(serde_json::from_str(&answer)?)
}

fn lifecycle() -> ClientLifecycleMode {
    match env::var("E2E_MODE").as_deref() {
        Ok("Auto") => ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: None,
        },
        _ => ClientLifecycleMode::Initialize,
    }
}

/// Connects over HTTP with a new login: rmcp keeps a token, and no registration.
async fn over_http(url: String, alarm: Alarm) -> Result<Client, Failure> {
    let mut state = OAuthState::new(&url, None).await?;
    state.start_authorization(AuthorizationRequest::new("http://localhost:41999/callback").with_client_name("rmcp")).await?;
    let answer = request(json!({"open": state.get_authorization_url().await?}))?;
    state.handle_callback_url(answer["to"].as_str().unwrap_or_default()).await?;
    let manager = state.into_authorization_manager().ok_or("not authorized")?;
    let transport = StreamableHttpClientTransport::with_client(
        AuthClient::new(reqwest::Client::new(), manager),
        StreamableHttpClientTransportConfig::with_uri(url),
    );
    Ok(alarm.serve_with_lifecycle(transport, lifecycle()).await?)
}

async fn over_stdio(alarm: Alarm) -> Result<Client, Failure> {
    let command: Vec<String> = serde_json::from_str(&env::var("E2E_COMMAND")?)?;
    let mut child = tokio::process::Command::new(&command[0]);
    child.args(&command[1..]);
    Ok(alarm.serve_with_lifecycle(TokioChildProcess::new(child)?, lifecycle()).await?)
}

async fn call(client: &Client, name: &'static str, arguments: Value) -> Result<Value, Failure> {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let result = client.call_tool(CallToolRequestParams::new(name).with_arguments(arguments)).await?;
    let text = result.content.first().and_then(|c| c.as_text()).ok_or("no text")?.text.clone();
    if result.is_error == Some(true) {
        return Err(format!("{name}: {text}").into());
    }
    Ok(serde_json::from_str(&text)?)
}

async fn chart(client: &Client) -> Result<&'static str, Failure> {
    let summary = call(client, "generate_chart", json!({"symbol": "BTCUSDT", "format": "summary", "bars": 60})).await?;
    Ok(if summary["price"]["bars"] == 60 { "yes" } else { "no" })
}

/// Subscribes to the alerts that fired, as clients of 2026-07-28 do, and reads them.
async fn watched(client: &Client) -> Result<&'static str, Failure> {
    let uri = "candela://alerts/fired";
    let mut changes = client.listen(SubscriptionFilter::builder().resource_subscriptions([uri]).build()).await?;
    let set = call(client, "set_alert", json!({"symbol": "BTCUSDT", "condition": {"price_above": 0.5}})).await?;
    let wait = Duration::from_secs(env::var("E2E_WAIT")?.parse()?);
    let Ok(Ok(Some(_))) = tokio::time::timeout(wait, changes.next()).await else { return Ok("no") };
    let fired = serde_json::to_string(&client.read_resource(ReadResourceRequestParams::new(uri)).await?)?;
    changes.cancel().await?;
    Ok(if fired.contains(set["alert_id"].as_str().ok_or("no id")?) { "yes" } else { "no" })
}

async fn alert(client: &Client, fired: &mut mpsc::Receiver<String>) -> Result<&'static str, Failure> {
    call(client, "subscribe_notifications", json!({})).await?;
    let set = call(client, "set_alert", json!({"symbol": "BTCUSDT", "condition": {"price_above": 0.5}})).await?;
    let wait = Duration::from_secs(env::var("E2E_WAIT")?.parse()?);
    let came = tokio::time::timeout(wait, async { while fired.recv().await.is_some_and(|id| set["alert_id"] != id) {} });
    Ok(if came.await.is_ok() { "yes" } else { "no" })
}

async fn measure(row: &mut Value) -> Result<(), Failure> {
    let (sender, mut fired) = mpsc::channel(100);
    let alarm = Alarm(sender);
    let url = env::var("E2E_URL").ok();
    let client = match &url {
        Some(url) => over_http(url.clone(), alarm.clone()).await?,
        None => over_stdio(alarm.clone()).await?,
    };
    row["tools"] = client.list_all_tools().await?.len().into();
    row["connects"] = "yes".into();
    row["call"] = chart(&client).await?.into();
    let modern = env::var("E2E_SERVES").is_ok_and(|serves| !serves.is_empty()) && env::var("E2E_MODE")? == "Auto";
    row["push"] = if modern { watched(&client).await? } else { alert(&client, &mut fired).await? }.into();
    client.cancel().await?;
    if let Some(url) = url {
        row["oauth"] = "yes".into();
        request(json!({"restart": true}))?;
        let client = over_http(url, alarm).await?;
        row["back"] = chart(&client).await?.into();
        client.cancel().await?;
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut row = json!({"version": env!("RMCP_VERSION"), "connects": "no"});
    if let Err(error) = measure(&mut row).await {
        row["error"] = format!("{error} {error:?}").into();
    }
    println!("{}", json!({"row": row}));
}
