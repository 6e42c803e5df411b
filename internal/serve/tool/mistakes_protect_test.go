package tool_test

// protectMistakes are calls with protective arguments that are wrong by themselves, without a
// price or a venue.
func protectMistakes() []mistake {
	const place = "place_order"
	m := func(arguments, says, next string) mistake { return mistake{place, arguments, says, place, next} }
	return []mistake{
		m(`{"symbol":"BTCUSDT","side":"sell","type":"stop","quantity":1,"price":5}`, "type market with stop_price", `{"symbol":"BTCUSDT","side":"sell","type":"market","quantity":1,"stop_price":5}`),
		{place, `{"symbol":"BTCUSDT","side":"sell","type":"stop_market","quantity":1,"stop_price":5}`, "", understood, ""},
		{place, `{"symbol":"BTCUSDT","side":"sell","type":"stop_limit","quantity":1,"price":5,"stop_price":6}`, "", understood, ""},
		m(`{"symbol":"BTCUSDT","side":"sell","type":"take_profit","quantity":1,"price":9}`, "reduce_only", `{"symbol":"BTCUSDT","side":"sell","type":"market","quantity":1,"reduce_only":true,"take_profit":9}`),
		m(`{"symbol":"BTCUSDT","side":"sell","type":"trailing_stop","quantity":1}`, "trail_percent", `{"symbol":"BTCUSDT","side":"sell","type":"market","quantity":1,"reduce_only":true,"trail_percent":2}`),
		m(`{"symbol":"BTCUSDT","side":"buy","type":"bracket","quantity":1,"stop_loss":5,"take_profit":9}`, "stop_loss and take_profit together", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"stop_loss":5,"take_profit":9}`),
		m(`{"symbol":"BTCUSDT","side":"sell","type":"oco","quantity":1,"stop_loss":5,"take_profit":9}`, "with reduce_only", `{"symbol":"BTCUSDT","side":"sell","type":"market","quantity":1,"reduce_only":true,"stop_loss":5,"take_profit":9}`),
		{place, `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"sl":5}`, "", understood, ""},
		{place, `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"tp":9}`, "", understood, ""},
		m(`{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"stop":5}`, "stop_loss", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"stop_loss":5}`),
		m(`{"symbol":"BTCUSDT","side":"sell","type":"market","quantity":1,"trigger_price":5}`, "stop_price", `{"symbol":"BTCUSDT","side":"sell","type":"market","quantity":1,"stop_price":5}`),
		m(`{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"target_price":9}`, "take_profit", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"take_profit":9}`),
		m(`{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"trailing_stop":2}`, "trail_percent", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"trail_percent":2}`),
		m(`{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"order_class":"bracket"}`, "stop_loss and take_profit", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"stop_loss":5,"take_profit":9}`),
		{"place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"stop_loss":{"price":5}}`, `"understood":[`, understood, ""},
		{place, `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"stop_loss":"5"}`, "", understood, ""},
		{place, `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"stop_loss":"5%"}`, "", understood, ""},
		m(`{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"stop_loss":-5}`, "above 0", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"stop_loss":5}`),
		m(`{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"stop_loss":5,"trail_percent":2}`, "give one of them", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"stop_loss":5}`),
		m(`{"symbol":"BTCUSDT","side":"sell","type":"market","quantity":1,"stop_price":5,"trail_percent":2}`, "give one of them", `{"symbol":"BTCUSDT","side":"sell","type":"market","quantity":1,"stop_price":5}`),
		m(`{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"stop_loss_limit":5}`, "needs stop_loss", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"stop_loss":6,"stop_loss_limit":5}`),
		m(`{"symbol":"BTCUSDT","side":"sell","type":"limit","price":9,"quantity":1,"reduce_only":true,"stop_loss":5}`, "take_profit", `{"symbol":"BTCUSDT","side":"sell","type":"market","quantity":1,"reduce_only":true,"stop_loss":5,"take_profit":9}`),
		m(`{"symbol":"BTCUSDT","side":"sell","type":"market","quantity":1,"reduce_only":true,"stop_price":5,"take_profit":9}`, "stop_loss", `{"symbol":"BTCUSDT","side":"sell","type":"market","quantity":1,"reduce_only":true,"stop_loss":5,"take_profit":9}`),
		m(`{"symbol":"BTCUSDT","side":"buy","type":"market","stop_loss":5,"risk":1}`, "risk_pct", `{"symbol":"BTCUSDT","side":"buy","type":"market","stop_loss":5,"risk_pct":1}`),
		m(`{"symbol":"BTCUSDT","side":"buy","type":"market","risk_pct":1}`, "needs stop_loss", `{"symbol":"BTCUSDT","side":"buy","type":"market","stop_loss":5,"risk_pct":1}`),
		m(`{"symbol":"BTCUSDT","side":"buy","type":"market","stop_loss":5,"risk_pct":1,"risk_amount":10}`, "give one of them", `{"symbol":"BTCUSDT","side":"buy","type":"market","stop_loss":5,"risk_pct":1}`),
		m(`{"symbol":"BTCUSDT","side":"buy","type":"market","trail_percent":2,"risk_pct":200}`, "it is per cent", `{"symbol":"BTCUSDT","side":"buy","type":"market","trail_percent":2,"risk_pct":2}`),
		m(`{"symbol":"BTCUSDT","side":"buy","type":"market","stop_loss":5,"risk_pct":200}`, "it is per cent", `{"symbol":"BTCUSDT","side":"buy","type":"market","stop_loss":5,"risk_pct":2}`),
		m(`{"symbol":"BTCUSDT","side":"buy","type":"market","stop_loss":5}`, "quantity is required", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"stop_loss":5}`),
		m(`{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"post_only":true}`, "limit orders", `{"symbol":"BTCUSDT","side":"buy","type":"limit","price":5,"quantity":1,"post_only":true}`),
		m(`{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"time_in_force":"good_till_cancelled"}`, "gtc, day, ioc, fok", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"time_in_force":"gtc"}`),
		{place, `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"tif":"ioc"}`, "", understood, ""},
		m(`{"symbol":"BTCUSDT","side":"sell","type":"market","quantity":1,"close_position":true}`, "reduce_only", `{"symbol":"BTCUSDT","side":"sell","type":"market","quantity":1,"reduce_only":true}`),
		m(`{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"not_after":"in 5 minutes"}`, "a time such as", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"not_after":"2026-01-31T16:05:00Z"}`),
	}
}
