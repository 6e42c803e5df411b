package tool_test

// conditionMistakes are calls of set_alert whose condition is not what was meant.
func conditionMistakes() []mistake {
	const set, rsi = "set_alert", `{"value":{"indicator":"rsi","op":"<","value":30}}`
	m := func(condition, says, next string) mistake {
		return mistake{set, `{"symbol":"BTCUSDT","condition":` + condition + `}`, says, set, `{"symbol":"BTCUSDT","condition":` + next + `}`}
	}
	with := func(condition, more, says, next string) mistake {
		return mistake{set, `{"symbol":"BTCUSDT","condition":` + condition + `,` + more + `}`, says, set, `{"symbol":"BTCUSDT","condition":` + condition + next + `}`}
	}
	taken := func(condition string) mistake {
		return mistake{set, `{"symbol":"BTCUSDT","condition":` + condition + `}`, `"understood":[`, understood, ""}
	}
	return []mistake{
		// operators and sides
		taken(`{"value":{"indicator":"rsi","op":"below","value":30}}`),
		taken(`{"value":{"indicator":"rsi","op":"lt","value":30}}`),
		m(`{"value":{"indicator":"rsi","op":"==","value":30}}`, "crosses_above", `{"value":{"indicator":"rsi","op":"crosses_above","value":30}}`),
		taken(`{"value":{"indicator":"rsi","op":"crossover","value":30}}`),
		taken(`{"value":{"indicator":"rsi","operator":"<","value":30}}`),
		m(`{"value":{"indicator":"rsi","value":30}}`, "op is required", rsi),
		m(`{"value":{"indicator":"rsi","op":"<"}}`, "value is required", rsi),
		taken(`{"value":{"indicator":"rsi","op":"<","threshold":30}}`),
		m(`{"value":{"op":"<","value":30}}`, `\"price\":\"close\"`, rsi),
		taken(`{"value":{"indicator":"rsi","op":"<","value":"30"}}`),
		m(`{"value":{"indicator":"rsi","op":">","value":101}}`, "never true", `{"value":{"indicator":"rsi","op":">","value":70}}`),
		m(`{"value":{"indicator":"rsi","op":"<","value":-5}}`, "never true", rsi),
		m(`{"value":{"indicator":"rsi","op":"enters","value":30}}`, "[30,70]", `{"value":{"indicator":"rsi","op":"enters","value":[30,70]}}`),
		m(`{"value":{"indicator":"rsi","op":"enters","value":[70,30]}}`, "low below high", `{"value":{"indicator":"rsi","op":"enters","value":[30,70]}}`),
		m(`{"value":{"indicator":"rsi","op":"<","value":[30,70]}}`, "enters", `{"value":{"indicator":"rsi","op":"enters","value":[30,70]}}`),
		m(`{"value":{"price":"close","op":">","value":"bbands"}}`, `{\"indicator\":\"bbands\"}`, `{"value":{"price":"close","op":">","value":{"indicator":"bbands","line":"BB Upper"}}}`),
		m(`{"value":{"price":"closing","op":">","value":5}}`, "close", `{"value":{"price":"close","op":">","value":5}}`),
		m(`{"value":{"indicator":"rsi","price":"close","op":">","value":5}}`, "only one of", rsi),
		// indicators and lines
		taken(`{"value":{"indicator":"macd","op":">","value":0}}`),
		m(`{"value":{"indicator":"macd","line":"sign","op":">","value":0}}`, "Signal", `{"value":{"indicator":"macd","line":"Signal","op":">","value":0}}`),
		m(`{"value":{"indicator":"rsii","op":"<","value":30}}`, "rsi", rsi),
		m(`{"value":{"indicator":{"name":"rsi","lengthh":7},"op":"<","value":30}}`, "length", `{"value":{"indicator":{"name":"rsi","length":7},"op":"<","value":30}}`),
		m(`{"value":{"indicator":{"length":7},"op":"<","value":30}}`, "name is required", `{"value":{"indicator":{"name":"rsi","length":7},"op":"<","value":30}}`),
		m(`{"value":{"indicator":"fear_greed","op":"<","value":20}}`, "computed from the bars", rsi),
		m(`{"value":{"indicator":{"name":"correlation","symbol":"ETHUSDT"},"op":"<","value":0}}`, "no other symbol", rsi),
		m(`{"all":[`+rsi+`,{"value":{"indicator":{"name":"rsi","interval":"1d"},"op":"<","value":30}}]}`, "about the same bar", `{"all":[`+rsi+`,{"value":{"indicator":{"name":"rsi","length":7},"op":"<","value":30}}]}`),
		m(`{"indicator_signal":{"indicator":{"name":"rsi","length":7},"signal":"below_20"}}`, `{\"value\":{\"indicator\":\"rsi\",\"op\":\"<\",\"value\":20}}`, `{"value":{"indicator":"rsi","op":"<","value":20}}`),
		// shapes
		taken(`"RSI < 30"`),
		taken(`"price above 70,000"`),
		taken(`{"rsi":"<30"}`),
		taken(`{"rsi_below":30}`),
		m(`{"rsi":{"below":30}}`, "value", rsi),
		taken(`{"type":"price_above","threshold":1}`),
		taken(`{"type":"value","indicator":"rsi","line":"RSI","op":"<","value":30}`),
		taken(`{"indicator":"rsi","op":"<","value":30}`),
		taken(`{"indicator":"macd","signal":"cross_up"}`),
		taken(`{"and":[` + rsi + `,{"new_low":{"bars":20}}]}`),
		taken(`{"all":` + rsi + `}`),
		taken(`{"all":[` + rsi + `]}`),
		m(`{"all":[]}`, "2 to 8", rsi),
		taken(`{"any":[{"all":[` + rsi + `]},{"new_low":{"bars":20}}]}`),
		m(`{"all":[`+rsi+`,{"any":[`+rsi+`,{"new_low":{"bars":20}}]}]}`, "one level", `{"all":[`+rsi+`,{"new_low":{"bars":20}}]}`),
		m(`{"all":[`+rsi+`,{"price_crosses":70000}]}`, `\"op\":\"crosses_above\"`, `{"all":[`+rsi+`,{"value":{"price":"close","op":"crosses_above","value":70000}}]}`),
		taken(`{"new_high":20}`),
		m(`{"new_high":{"bars":0}}`, "from 1 to 5000", `{"new_high":{"bars":1}}`),
		m(`{"percent_change":5}`, `{\"bars\":24,\"op\":\">=\",\"value\":5}`, `{"percent_change":{"bars":24,"op":">=","value":5}}`),
		taken(`{"percent_change":{"bars":24,"op":">=","value":"5%"}}`),
		m(`{"price_change":5}`, "percent_change", `{"percent_change":{"bars":24,"op":">=","value":5}}`),
		m(`{"price":70000}`, `{\"price_crosses\":70000}`, `{"price_crosses":70000}`),
		m(`{"price_crosses":-1}`, "above 0", `{"price_crosses":1}`),
		m(`{"golden_cross":true}`, `\"indicator\":\"ma_cross\"`, `{"indicator_signal":{"indicator":"ma_cross","signal":"golden_cross"}}`),
		// the arguments beside the condition
		m(`{"price_above":5,"interval":"1h"}`, "beside condition", `{"price_above":5}`),
		m(`{"value":{"indicator":"rsi","op":"<","value":30,"interval":"1h"}}`, "beside condition", rsi),
		with(`{"price_above":5}`, `"cooldown":"1h"`, `\"repeat\":true`, `,"cooldown":"1h","repeat":true`),
		with(`{"price_above":5}`, `"max_fires":3`, `\"repeat\":true`, `,"max_fires":3,"repeat":true`),
		with(`{"price_above":5}`, `"repeat":true,"cooldown":"an hour"`, "1h", `,"repeat":true,"cooldown":"1h"`),
		with(`{"price_above":5}`, `"repeat":true,"cooldown":"5s"`, "at least 1m", `,"repeat":true,"cooldown":"1m"`),
		with(`{"price_above":5}`, `"repeat":"yes"`, "true or false", `,"repeat":true`),
		with(`{"price_above":5}`, `"on":"bar"`, "close, tick", `,"on":"close"`),
		with(`{"new_high":{"bars":20}}`, `"on":"tick"`, "close for this condition", ``),
	}
}
