package tooltest

import (
	"maps"

	"candela/internal/kit/principal"
)

// AllScopes returns the scope that each tool needs, with those of the tool sets.
func AllScopes() map[string]principal.Scope {
	all := Scopes()
	maps.Copy(all, Extra())
	return all
}

// Extra returns the scope that each tool of the tool sets needs.
func Extra() map[string]principal.Scope {
	return map[string]principal.Scope{
		"find_symbols": principal.Charts, "get_account": principal.Read, "get_trades": principal.Read,
		"run_backtest": principal.Charts, "test_alert": principal.Charts, "scan_symbols": principal.Charts, "get_report": principal.Charts,
		"check_script": principal.Charts, "save_script": principal.Trade, "delete_script": principal.Trade,
	}
}

// Scopes returns the scope that each tool needs which is always listed.
func Scopes() map[string]principal.Scope {
	return map[string]principal.Scope{
		"generate_chart": principal.Charts, "list_indicators": principal.Charts, "get_indicators": principal.Charts,

		"get_orders": principal.Read, "get_positions": principal.Read, "get_balance": principal.Read,
		"list_alerts": principal.Read, "list_subscriptions": principal.Read, "get_notifications": principal.Read,
		"subscribe_notifications": principal.Read, "unsubscribe_notifications": principal.Read,

		"place_order": principal.Trade, "cancel_order": principal.Trade,
		"set_alert": principal.Trade, "cancel_alert": principal.Trade,
	}
}
