package conformancetest

// claim is a sentence of the interface and what proves it. A row of a table is
// its cells with semicolons between them.
type claim struct {
	sentence string
	tests    []string // package.Test or package.Test/subtest
}

// section is a part of the interface.
type section struct {
	title  string
	claims []claim
}

func sections() []section {
	return []section{
		{"HTTP endpoints", httpClaims()},
		{"Tools", toolClaims()},
		{"Alert", alertClaims()},
		{"States and transitions", stateClaims()},
		{"Subscription", subscriptionClaims()},
		{"Events", eventClaims()},
		{"Errors", []claim{
			{sentence: "POST /mcp with an Accept header that excludes application/json; HTTP 406 Not Acceptable", tests: []string{"httpd.TestHTTP/accept", "httpd.TestAccepts"}},
			{sentence: "A trading tool is called while the service runs without `--trade`; tool returns an error", tests: []string{"tool.TestTools_WithoutTradeRefuseAndStayListed"}},
			{sentence: "get_balance is called; always returns an error", tests: []string{"tool.TestGetBalance_AlwaysFails"}},
			{sentence: "A method other than initialize or tools/list is sent without a valid bearer token; rejected; status code and body: not shown", tests: []string{"httpd.TestHTTP/token"}},
			{sentence: "PKCE verification fails at /token; rejected; the log records the verify result; response body: not shown", tests: []string{"oauth.TestToken_PKCEWrongBurns", "oauth.TestLog_EveryStepAndNoSecret"}},
		}},
		{"Limits", []claim{
			{sentence: "Access token lifetime; 7 days (604800 seconds); all bearer tokens", tests: []string{"oauth.TestFlow_TokenExpires", "oauth.TestToken_Happy"}},
			{sentence: "Offline notification TTL; 1 hour; queued push notifications", tests: []string{"inboxtest.TestStream_OfflineQueueHoldsTheNewestThousandForAnHour", "inboxtest.TestLog_EqualsALiteralQueuePerSubscriber"}},
			{sentence: "Offline queue capacity; 1000 entries, oldest evicted first; per subscriber", tests: []string{"httpd.TestPush_ExampleFlow", "inboxtest.TestLog_EqualsALiteralQueuePerSubscriber"}},
			{sentence: "Default interval; 4h; indicator computation tool", tests: []string{"tool.TestGetIndicators_DefaultInterval"}},
			{sentence: "Tool count; 15, of which 12 need `--trade`; tools", tests: []string{"tool.TestTools_FifteenInAFixedOrder", "tool.TestTools_WithoutTradeRefuseAndStayListed"}},
		}},
		{"Versioning", []claim{
			{sentence: "The HTTP transport conforms to MCP Streamable HTTP, spec 2025-03-26.", tests: []string{"httpd.TestTranscripts", "httpd.TestHTTP", "httpd.TestSDKClient"}},
			{sentence: "The `initialize` response advertises `protocolVersion` 2025-03-26.", tests: []string{"mcp.TestServer_InitializeAdvertisesExactlyWhatIsOffered"}},
			{sentence: "The HTTP paths POST /, POST /message and GET /sse remain as aliases of POST /mcp and GET /mcp for older connector deployments.", tests: []string{"httpd.TestTranscripts", "httpd.TestHTTP/stream", "httpd.TestStream_EventsResumeAndServerStop"}},
			{sentence: "Metadata follows RFC 8414 and client registration follows RFC 7591.", tests: []string{"oauth.TestMetadata", "oauth.TestRegister_NoNulls", "oauth.TestRegister_SecretExpiryZero", "oauth.TestFlow_XOAuth2"}},
		}},
	}
}

func httpClaims() []claim {
	return []claim{
		{sentence: "GET; /.well-known/oauth-authorization-server; none; out: metadata document (see resources)", tests: []string{"oauth.TestMetadata"}},
		{sentence: "POST; /register; none; in: dynamic client registration request; out: includes client_id and client_secret", tests: []string{"oauth.TestRegister_Cursor3URIs", "oauth.TestFlow_XOAuth2"}},
		{sentence: "GET; /authorize; none; query: `client_id`, `redirect_uri`, `response_type` (must be `code`), `code_challenge`, `code_challenge_method` (must be `S256`), optional `state`", tests: []string{"oauth.TestAuthorize_ResponseTypeToken", "oauth.TestAuthorize_Plain", "oauth.TestAuthorize_NoChallenge", "oauth.TestAuthorize_StateEncoded"}},
		{sentence: "POST; /token; none; in: authorization code and `code_verifier`; out: access token", tests: []string{"oauth.TestToken_Happy"}},
		{sentence: "GET; /favicon.svg; none; out: SVG icon referenced by logo_uri", tests: []string{"httpd.TestHTTP/discovery", "oauth.TestMetadata"}},
		{sentence: "GET; /; none; out: health / discovery JSON; its fields: not shown", tests: []string{"httpd.TestHTTP/discovery", "httpd.TestHTTP/public"}},
		{sentence: "POST; /mcp (aliases POST /, POST /message); see Authentication; in: one JSON-RPC 2.0 request; out: JSON-RPC 2.0 response in the body, Content-Type application/json", tests: []string{"httpd.TestTranscripts", "httpd.TestHTTP/token"}},
		{sentence: "GET; /mcp (alias GET /sse); bearer token required; out: persistent SSE stream of server-initiated JSON-RPC notification frames", tests: []string{"httpd.TestHTTP/stream", "httpd.TestStream_CommentAtOnceThenKeepAliveEach15Seconds", "httpd.TestStream_EventsResumeAndServerStop"}},
		{sentence: "The response Content-Type is application/json for synchronous tool calls.", tests: []string{"httpd.TestHTTP/accept", "httpd.TestHTTP/session"}},
		{sentence: "A request whose Accept header explicitly excludes application/json (for example text/plain) gets 406 Not Acceptable.", tests: []string{"httpd.TestHTTP/accept", "httpd.TestAccepts"}},
		{sentence: "A missing Accept header is treated as application/json.", tests: []string{"httpd.TestHTTP/accept", "httpd.TestAccepts"}},
		{sentence: "Accept containing both application/json and text/event-stream is accepted.", tests: []string{"httpd.TestHTTP/accept", "httpd.TestAccepts"}},
		{sentence: "When the request carries `Mcp-Session-Id`, the same value is echoed back unchanged.", tests: []string{"httpd.TestHTTP/session"}},
		{sentence: "No server-side session state is kept.", tests: []string{"httpd.TestHTTP/session", "stdio.TestSession_ListsBeforeInitialize"}},
		{sentence: "Paths POST / and POST /message behave exactly as POST /mcp; GET /sse behaves exactly as GET /mcp.", tests: []string{"httpd.TestTranscripts", "httpd.TestHTTP/accept", "httpd.TestHTTP/stream", "httpd.TestStream_EventsResumeAndServerStop"}},
		{sentence: "Rules for GET /mcp: it sends JSON-RPC notification frames without an id (method `notifications/alert_triggered`).", tests: []string{"httpd.TestPush_ExampleFlow", "httpd.TestStream_EventsResumeAndServerStop"}},
		{sentence: "No legacy `event: endpoint` frame is sent; clients POST to /mcp directly.", tests: []string{"httpd.TestStream_CommentAtOnceThenKeepAliveEach15Seconds"}},
	}
}

func toolClaims() []claim {
	trading := []string{"tool.TestTools_AreAsRecorded", "tool.TestTools_AcceptAndAnswerByTheirSchemas", "tool.TestTools_WithoutTradeRefuseAndStayListed"}
	wrong := append([]string{"tool.TestWrongCalls_AnswersLetAModelCorrectItself"}, trading...)
	return []claim{
		{sentence: "generate_chart; `ticker` or `symbol`, `timeframe` or `interval`, `indicators` (array; each item a name string or an object with `name` plus parameter overrides such as a length or a bin count), `bars`, `width`, `height`, `format`; by format, below", tests: []string{"tool.TestSpellings_AreUnderstood", "tool.TestTools_AreAsRecorded", "tool.TestTools_AcceptAndAnswerByTheirSchemas"}},
		{sentence: "indicator catalog tool; none shown; full catalog with descriptions, aliases and configurable parameters", tests: []string{"tool.TestListIndicators_IsTheWholeCatalogue", "tool.TestTools_AcceptAndAnswerByTheirSchemas"}},
		{sentence: "indicator computation tool; required `symbol`, required `indicators` (array of names), optional `interval` (default `4h`); indicator computation result (see resources)", tests: []string{"tool.TestGetIndicators_DefaultInterval", "tool.TestWrongCalls_AnswersLetAModelCorrectItself", "payload.TestGolden"}},
		{sentence: "png (default); base64-encoded PNG of the chart", tests: []string{"tool.TestGenerateChart_Formats", "httpd.TestSDKClient"}},
		{sentence: "summary; chart summary payload as JSON", tests: []string{"tool.TestGenerateChart_Formats", "payload.TestGolden"}},
		{sentence: "both; PNG plus the summary JSON", tests: []string{"tool.TestGenerateChart_Formats", "httpd.TestSDKClient"}},
		{sentence: "series; series payload as JSON; exclusive: no PNG, a single text content item", tests: []string{"tool.TestGenerateChart_Formats", "payload.TestGolden", "payload.TestSeries_StaysAlignedWhenCut"}},
		{sentence: "The catalog is meant to be consulted before generate_chart to discover valid indicator names.", tests: []string{"tool.TestListIndicators_IsTheWholeCatalogue"}},
		{sentence: "place_order; submit a market or limit order; required `symbol`, `side`, `type`, `quantity`; `price` for limits", tests: append([]string{"app.TestDesk_AtBinance", "desk.TestPlace_FillsAndHolds", "desk.TestPlace_Fates"}, wrong...)},
		{sentence: "cancel_order; cancel an open order; required `order_id`", tests: append([]string{"app.TestDesk_AtBinance", "app.TestDesk_AtAlpaca", "desk.TestPlace_RestsAndIsCancelled"}, trading...)},
		{sentence: "get_orders; list tracked orders; optional filter with values `open` or `all` (default `all`)", tests: append([]string{"app.TestDesk_AtBinance", "app.TestDesk_AtAlpaca"}, trading...)},
		{sentence: "get_positions; open positions with unrealized PnL; none shown", tests: append([]string{"app.TestDesk_AtBinance", "desk.TestPlace_FillsAndHolds"}, trading...)},
		{sentence: "get_balance; stub; always returns an error (use get_positions); none", tests: []string{"tool.TestGetBalance_AlwaysFails"}},
		{sentence: "set_alert; register a one-shot alert; required `symbol`, `condition`", tests: append([]string{"tool.TestSetAlert_DefaultsAndForms", "engine.TestSet_ThePriceFiresIt", "engine.TestSignal_FiresWhatAChartShows", "app.TestServe_AnAlertReachesTheStreamAndThePoll"}, wrong...)},
		{sentence: "list_alerts; list all active alerts; none shown", tests: append([]string{"engine.TestCancel_OnlyTheOwnersOwn", "app.TestTrade_ARestartKeepsWhatWasPromised"}, trading...)},
		{sentence: "cancel_alert; remove an alert before it fires; required `alert_id`", tests: append([]string{"engine.TestCancel_OnlyTheOwnersOwn"}, trading...)},
		{sentence: "get_notifications; drain the queue of triggered alerts (polling); none shown", tests: append([]string{"httpd.TestPush_ExampleFlow", "httpd.TestPoll_WaitsAndGivesEachOnce", "inboxtest.TestPoll_EachEntryGoesToOneCaller"}, trading...)},
		{sentence: "subscribe_notifications; register push filters; optional `symbols`, `alert_types`", tests: append([]string{"httpd.TestPush_ExampleFlow", "stdio.TestSession_PushesWhatIsSubscribed"}, wrong...)},
		{sentence: "unsubscribe_notifications; remove the current subscription; none", tests: append([]string{"httpd.TestPush_ExampleFlow", "inboxtest.TestFile_SubscriptionSurvivesACrash"}, trading...)},
		{sentence: "list_subscriptions; active filters and offline queue size for the calling token; none", tests: append([]string{"httpd.TestPush_ExampleFlow", "inboxtest.TestLog_EqualsALiteralQueuePerSubscriber"}, trading...)},
		{sentence: "Transport; JSON-RPC response; JSON-RPC notification over SSE", tests: []string{"httpd.TestPush_ExampleFlow"}},
		{sentence: "Delivery; on request; immediate", tests: []string{"httpd.TestPush_ExampleFlow", "httpd.TestPoll_WaitsAndGivesEachOnce"}},
		{sentence: "Offline buffer; drained on next call; queued up to 1 hour / 1000 entries", tests: []string{"httpd.TestPush_ExampleFlow", "inboxtest.TestStream_OfflineQueueHoldsTheNewestThousandForAnHour"}},
		{sentence: "Filters; none; symbols and alert types", tests: []string{"httpd.TestPush_ExampleFlow", "inboxtest.TestStream_DeliversMatchingEntries"}},
		{sentence: "Consumers; shared queue; per-token subscription", tests: []string{"httpd.TestPush_ExampleFlow", "inboxtest.TestPoll_IsSharedByTheTokensOfAnOwner"}},
	}
}

func alertClaims() []claim {
	return []claim{
		{sentence: "Identified by `alert_id` (string).", tests: []string{"alert.TestFiring_AppendJSON", "tool.TestTools_AreAsRecorded"}},
		{sentence: "A one-shot alert fires once and is then removed.", tests: []string{"e2e/alerts.TestCrash_NoAlertIsLostOrFiresTwice", "engine.TestEngine_LosesNothingAndDoublesNothing"}},
		{sentence: "Condition shapes (one key only): `price_above` (number), `price_below` (number), `indicator_signal` (object with `indicator` and `signal`, both strings).", tests: []string{"tool.TestSetAlert_DefaultsAndForms", "tool.TestWrongCalls_AnswersLetAModelCorrectItself"}},
	}
}

func stateClaims() []claim {
	crash := "e2e/alerts.TestCrash_NoAlertIsLostOrFiresTwice"
	return []claim{
		{sentence: "Alert; none; set_alert; valid condition; active; listed by list_alerts", tests: []string{crash, "app.TestTrade_ARestartKeepsWhatWasPromised"}},
		{sentence: "Alert; active; cancel_alert; alert_id known; removed", tests: []string{crash, "engine.TestCancel_OnlyTheOwnersOwn"}},
		{sentence: "Alert; active; condition becomes true; ; removed (one-shot); notification pushed to matching subscribers or queued; also available to get_notifications", tests: []string{crash, "app.TestPush_FromAlertToStreamAndAcrossARestart"}},
		{sentence: "Access token; valid; 7 days elapse; ; expired; evicted on next request; authorization flow must be repeated", tests: []string{"oauth.TestFlow_TokenExpires"}},
		{sentence: "Notification; queued offline; stream reconnects; ; delivered in order", tests: []string{"httpd.TestPush_ExampleFlow", crash}},
		{sentence: "Notification; queued offline; 1 hour elapses, or queue exceeds 1000 entries; oldest first for capacity; dropped", tests: []string{"inboxtest.TestStream_OfflineQueueHoldsTheNewestThousandForAnHour", "inboxtest.TestLog_EqualsALiteralQueuePerSubscriber"}},
	}
}

func subscriptionClaims() []claim {
	return []claim{
		{sentence: "Bound to the access token in use; each connection has its own filters and its own offline queue.", tests: []string{"httpd.TestPush_ExampleFlow", "inboxtest.TestLog_EqualsALiteralQueuePerSubscriber", "inboxtest.TestSubscription_IsInheritedByTheReturningClient"}},
		{sentence: "Filters: `symbols` (array of strings), `alert_types` (array, each one of `price_above`, `price_below`, `indicator_signal`).", tests: []string{"httpd.TestPush_ExampleFlow", "tool.TestWrongCalls_AnswersLetAModelCorrectItself", "tool.TestTools_AreAsRecorded"}},
		{sentence: "A filter that is omitted matches all values.", tests: []string{"inboxtest.TestStream_DeliversMatchingEntries"}},
		{sentence: "Persisted in a file `~/.<service>/subscriptions.json` so that it survives a restart.", tests: []string{"app.TestPush_FromAlertToStreamAndAcrossARestart", "inboxtest.TestFile_SubscriptionSurvivesACrash"}},
	}
}

func eventClaims() []claim {
	whole := []string{"app.TestPush_FromAlertToStreamAndAcrossARestart"}
	record := append([]string{"alert.TestFiring_AppendJSON"}, whole...)
	return []claim{
		{sentence: "The only event is a server-initiated JSON-RPC 2.0 notification (no `id`) sent on the SSE stream of GET /mcp, emitted under `--trade` when an alert fires and a matching subscription exists.", tests: append([]string{"httpd.TestPush_ExampleFlow"}, whole...)},
		{sentence: "jsonrpc; string; `2.0`", tests: whole},
		{sentence: "method; string; `notifications/alert_triggered`", tests: whole},
		{sentence: "params.alert_id; string", tests: record},
		{sentence: "params.symbol; string", tests: record},
		{sentence: "params.interval; string; may be empty", tests: record},
		{sentence: "params.condition.type; string; one of `price_above`, `price_below`, `indicator_signal`", tests: record},
		{sentence: "params.condition.threshold; number; present for price conditions", tests: record},
		{sentence: "params.condition.indicator, params.condition.signal; string; present for indicator_signal conditions", tests: record},
		{sentence: "params.value; number; value at the time of firing", tests: record},
		{sentence: "params.triggered_at; string; ISO 8601 UTC timestamp with milliseconds", tests: record},
		{sentence: "Emitted by: an alert firing (set_alert registered it).", tests: whole},
		{sentence: "A notification is delivered only when the subscription's `symbols` and `alert_types` filters match (an omitted filter matches all).", tests: append([]string{"inboxtest.TestStream_DeliversMatchingEntries"}, whole...)},
		{sentence: "When the stream is disconnected at firing time, the notification is appended to the per-subscriber offline queue; on reconnect the queue is drained in order.", tests: append([]string{"httpd.TestPush_ExampleFlow"}, whole...)},
		{sentence: "Queue limits: entries older than 1 hour are dropped; when the queue reaches 1000 entries the oldest are evicted.", tests: []string{"inboxtest.TestStream_OfflineQueueHoldsTheNewestThousandForAnHour", "inboxtest.TestLog_EqualsALiteralQueuePerSubscriber"}},
		{sentence: "The same triggered alerts can instead be drained with get_notifications.", tests: append([]string{"httpd.TestPush_ExampleFlow"}, whole...)},
	}
}
