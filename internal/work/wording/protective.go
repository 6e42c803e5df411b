package wording

// protectiveWords maps names that models and venues use for protective orders, without
// separators, to what they mean here.
func protectiveWords() map[string]advice {
	stop := advice{"a stop is type market with stop_price; stop_loss protects an entry, or with reduce_only a position", []string{"stop_price", "stop_loss"}}
	stopLimit := advice{"a stop-limit is type limit with price and stop_price", []string{"price", "stop_price"}}
	target := advice{"take_profit closes a position at a profit: with an entry, or with reduce_only for a position you have", []string{"take_profit"}}
	trail := advice{"trail_percent trails: with an entry, or with reduce_only for a position you have", []string{"trail_percent"}}
	both := advice{"stop_loss and take_profit together make a bracket; with reduce_only a pair of which one cancels the other", []string{"stop_loss", "take_profit"}}
	return map[string]advice{
		"stop": stop, "stoploss": stop, "stopmarket": stop, "stoporder": stop, "sl": stop, "trigger": stop, "triggerprice": stop, "stopprice": stop, "stoplossprice": stop,
		"stoplimit": stopLimit, "stoplimitprice": stopLimit, "stoplosslimit": stopLimit,
		"takeprofit": target, "takeprofitlimit": target, "takeprofitprice": target, "tp": target, "target": target, "targetprice": target,
		"trail": trail, "trailing": trail, "trailingstop": trail, "trailingdelta": trail, "trailpercent": trail, "trailprice": trail, "trailingpercent": trail, "callbackrate": trail,
		"oco": both, "bracket": both, "orderclass": both, "legs": both, "oto": both, "otoco": both,
		"closeposition": {"reduce_only closes a position without opening another", []string{"reduce_only"}},
	}
}

// Protective explains how to ask for a protective order and names the arguments, or returns "" for another word.
func Protective(word string) (string, []string) {
	row := protectiveWords()[Joined(word)]
	return row.text, row.use
}
