package tool_test

// nameMistakes are calls with a symbol or an average that is spelled as people say it.
func nameMistakes() []mistake {
	const chart, indicators, place, set, list, notes = "generate_chart", "get_indicators", "place_order", "set_alert", "list_indicators", "get_notifications"
	symbol := func(given, says, next string) mistake {
		return mistake{chart, `{"symbol":"` + given + `","format":"summary"}`, says, chart, `{"symbol":"` + next + `","format":"summary"}`}
	}
	drawn := func(given, says string) mistake {
		return mistake{indicators, `{"symbol":"BTCUSDT","indicators":[` + given + `]}`, says, understood, ""}
	}
	refused := func(given, says, next string) mistake {
		return mistake{indicators, `{"symbol":"BTCUSDT","indicators":[` + given + `]}`, says, indicators, `{"symbol":"BTCUSDT","indicators":[` + next + `]}`}
	}
	return []mistake{
		// symbols
		symbol("ethereum", "ETHUSDT", "ETHUSDT"),
		symbol("eth", "ETHUSDT", "ETHUSDT"),
		symbol("apple inc", "AAPL", "AAPL"),
		symbol("gold", "GC=F", "GC=F"),
		symbol("S&P 500", "^GSPC", "^GSPC"),
		symbol("SP500", "^GSPC", "^GSPC"),
		symbol("BTC-USDT-SWAP", "perpetuals", "BTCUSDT.P"),
		symbol("BTCPERP", "perpetuals", "BTCUSDT.P"),
		symbol("BTC/USD", "BTCUSDT", "BTCUSDT"),
		symbol("nasdaq:AAPL", "AAPL", "AAPL"),
		symbol("XBTUSD", "BTCUSDT", "BTCUSDT"),
		symbol("EURUSD", "EURUSD=X", "EURUSD=X"),
		symbol("euro", "EURUSD=X", "EURUSD=X"),
		symbol("ETHUSTD", "ETHUSDT", "ETHUSDT"),
		symbol("COINBASE:BITCOIN", "coinbase:BTC-USD", "coinbase:BTC-USD"),
		symbol("$AAPL", "AAPL", "AAPL"),
		symbol("AAPL.US", "AAPL", "AAPL"),
		symbol("BTCUSDT_PERP", "perpetuals", "BTCUSDT.P"),
		symbol("tesla", "TSLA", "TSLA"),
		{place, `{"symbol":"bitcoin","side":"buy","type":"market","quantity":1}`, "BTCUSDT", place, `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1}`},
		{set, `{"symbol":"BTCUSDTPERP","condition":{"price_above":5}}`, "perpetuals", set, `{"symbol":"BTCUSDT.P","condition":{"price_above":5}}`},
		symbol("btc/usdt ", "BTCUSDT", "BTCUSDT"),
		symbol("binance/BTCUSDT", "BTCUSDT", "BTCUSDT"),
		// averages
		drawn(`"sma"`, `SMA(`),
		drawn(`"SMA200"`, `SMA(200)`),
		drawn(`"EMA(50)"`, `EMA(50)`),
		drawn(`"ema_100"`, `EMA(100)`),
		drawn(`"50 ema"`, `EMA(50)`),
		drawn(`"hull"`, `HMA(`),
		drawn(`{"name":"sma","period":50}`, `SMA(50)`),
		drawn(`"RSI(7)"`, `RSI(7)`),
		drawn(`"volume"`, `"label":"Volume`),
		drawn(`"stochrsi"`, `Stoch RSI`),
		refused(`{"name":"ma","type":"smaa"}`, "sma", `{"name":"ma","type":"sma"}`),
		refused(`{"name":"sma","length":0}`, "from 1 to", `{"name":"sma","length":1}`),
		drawn(`{"name":"sma","length":"50"}`, `SMA(50)`),
		refused(`{"name":"sma","length":50.5}`, "whole number", `{"name":"sma","length":50}`),
		refused(`{"name":"sma","lengt":50}`, "length", `{"name":"sma","length":50}`),
		refused(`{"name":"sma","source":"closing"}`, "close", `{"name":"sma","source":"close"}`),
		drawn(`{"sma":50}`, `SMA(50)`),
		refused(`{"name":"ema","length":[20,50]}`, "whole number", `{"name":"ema","length":20},{"name":"ema","length":50}`),
		refused(`"sma 20/50"`, "sma", `"sma20","sma50"`),
		{list, `{"name":"moving averages"}`, "moving_average", list, `{"name":"moving_average"}`},
		{notes, `{"wait_seconds":"30"}`, "", understood, ""},
	}
}
