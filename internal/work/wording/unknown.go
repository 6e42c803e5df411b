package wording

import "strings"

// UnknownTool returns what to use in place of a tool that clients expect and candela does not have, ""
// for another name.
func UnknownTool(name string) string {
	const (
		price  = "Use get_indicators without indicators: last has the price."
		place  = "Use place_order."
		bars   = "Use generate_chart with format series."
		alerts = "Use set_alert."

		changed = "Use cancel_alert, then set_alert."
		drawn   = `Use generate_chart with {"name":"pine","source":".."} among indicators.`
		closes  = `Use place_order with "quantity":"all" and "reduce_only":true.`
	)
	return map[string]string{
		"getprice": price, "getquote": price, "getticker": price, "getlastprice": price, "getcurrentprice": price, "price": price, "quote": price, "getmarketprice": price, "getquotes": price,
		"createorder": place, "buy": place, "sell": place, "submitorder": place, "neworder": place, "sendorder": place, "placetrade": place, "marketorder": place, "trade": place,
		"closeposition": closes, "closeallpositions": `Use place_order with "quantity":"all" and "reduce_only":true for each of get_positions.`,
		"getcandles": bars, "getohlcv": bars, "getbars": bars, "getklines": bars, "gethistory": bars, "gethistoricaldata": bars, "getpricehistory": bars,
		"getnews": "candela has no news.", "searchnews": "candela has no news.", "getsentiment": "Use get_indicators with fear_greed.",
		"getorderbook": "candela has no order book; get_indicators without indicators has the last price.", "getdepth": "candela has no order book; get_indicators without indicators has the last price.",
		"createalert": alerts, "addalert": alerts, "newalert": alerts, "setpricealert": alerts, "getalerts": "Use list_alerts.", "deletealert": "Use cancel_alert.", "removealert": "Use cancel_alert.",
		"getchart": "Use generate_chart.", "createchart": "Use generate_chart.", "drawchart": "Use generate_chart.", "plotchart": "Use generate_chart.", "chart": "Use generate_chart.",
		"getindicator": "Use get_indicators.", "computeindicators": "Use get_indicators.", "calculateindicator": "Use get_indicators.", "getrsi": `Use get_indicators with "indicators":["rsi"].`,
		"listorders": "Use get_orders.", "getopenorders": `Use get_orders with "filter":"open".`, "getorder": `Use get_orders with "order_id".`, "cancelallorders": `Use cancel_order with "order_id":"all".`,
		"listpositions": "Use get_positions.", "getposition": `Use get_positions with "symbol".`, "getportfolio": "Use get_positions.", "modifyorder": "Use place_order with replaces.", "editorder": "Use place_order with replaces.",
		"backtest": "Use run_backtest.", "screen": "Use scan_symbols.", "screener": "Use scan_symbols.", "scan": "Use scan_symbols.", "searchsymbols": "Use find_symbols.", "listsymbols": "Use find_symbols.", "getsymbols": "Use find_symbols.", "listmarkets": "Use find_symbols.", "getmarkets": "Use find_symbols.", "searchsymbol": "Use find_symbols.",
		"getaccountbalance": "Use get_account.", "getaccountinfo": "Use get_account.", "getaccountsummary": "Use get_account.", "getfills": "Use get_trades.", "listtrades": "Use get_trades.", "gettradehistory": "Use get_trades.", "getorderhistory": `Use get_orders with "filter":"closed".`,
		"setstoploss": `Use place_order with "stop_loss" and "reduce_only":true.`, "settakeprofit": `Use place_order with "take_profit" and "reduce_only":true.`, "subscribe": "Use subscribe_notifications.", "unsubscribe": "Use unsubscribe_notifications.",
		"createscript": "Use save_script.", "runscript": drawn, "runpine": drawn, "listscripts": "Use list_indicators with brief: stored scripts are in it.", "testcondition": "Use test_alert.", "scansymbols": "Use scan_symbols.", "scanmarket": "Use scan_symbols.", "search": "Use find_symbols.",
		"waitforalert": "Use get_notifications with wait_seconds.", "pollnotifications": "Use get_notifications.",
		"updatealert": changed, "modifyalert": changed, "editalert": changed, "getmarketdata": price, "getpnl": "Use get_trades, or get_positions for what is open.", "getprofit": "Use get_trades.",
		"closeorder": "Use cancel_order.", "deleteorder": "Use cancel_order.", "closetrade": closes, "closeall": closes + " For several symbols call it for each of get_positions.",
	}[Joined(name)]
}

// UnknownToolByPart returns what to use in place of such a tool by a word in its name, "" for none.
func UnknownToolByPart(name string) string {
	name = Joined(name)
	for _, row := range [][2]string{
		{"chart", "Use generate_chart."},
		{"backtest", "Use run_backtest."},
		{"scan", "Use scan_symbols."},
		{"screen", "Use scan_symbols."},
		{"notification", "Use get_notifications."},
		{"cancelalert", "Use cancel_alert."},
		{"deletealert", "Use cancel_alert."},
		{"listalert", "Use list_alerts."},
		{"getalert", "Use list_alerts."},
		{"alert", "Use set_alert, list_alerts or cancel_alert."},
		{"cancel", "Use cancel_order."},
		{"order", "Use place_order, get_orders or cancel_order."},
		{"buy", "Use place_order."},
		{"sell", "Use place_order."},
		{"position", "Use get_positions."},
		{"script", "Use check_script, save_script or delete_script; generate_chart draws one without a name."},
		{"pine", "Use check_script or save_script; generate_chart draws one without a name."},
		{"indicator", "Use get_indicators, or list_indicators for their names."},
		{"technical", "Use get_indicators."},
		{"candle", "Use generate_chart with format series."},
		{"ohlc", "Use generate_chart with format series."},
		{"kline", "Use generate_chart with format series."},
		{"histor", "Use generate_chart with format series."},
		{"price", "Use get_indicators without indicators: last has the price."},
		{"ticker", "Use get_indicators without indicators: last has the price."},
		{"symbol", "Use find_symbols."},
		{"trades", "Use get_trades."},
		{"balance", "Use get_account."},
		{"account", "Use get_account."},
		{"portfolio", "Use get_positions."},
		{"report", "Use get_report."},
	} {
		if strings.Contains(name, row[0]) {
			return row[1]
		}
	}
	return ""
}
