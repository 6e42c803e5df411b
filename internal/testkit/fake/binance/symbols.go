package binance

import (
	"slices"
	"strings"
)

// Features is what the orders of a symbol cannot have.
type Features struct {
	NoTypes                                    []string // of orders
	NoOCO, NoOTO, NoOPO, NoTrailing, NoReplace bool
}

// features returns those of a symbol. Of the symbols that are there by themselves, ETHBTC
// has no stops at market, no trailing stops and no OPO.
func (e *exchange) features(symbol string) Features {
	if f, ok := e.symbols[symbol]; ok {
		return f
	}
	if symbol == "ETHBTC" {
		return Features{NoTypes: []string{typeStop, typeTakeProfit}, NoTrailing: true, NoOPO: true}
	}
	return Features{}
}

// types are the orderTypes of exchangeInfo.
func (f Features) types() []string {
	return slices.DeleteFunc(orderTypes(), func(kind string) bool { return slices.Contains(f.NoTypes, kind) })
}

// unsupported is the refusal of what a symbol does not have.
func unsupported(what string) *refusal {
	return &refusal{400, -1013, what + " not supported for this symbol."}
}

// check returns the refusal of an order that the symbol does not have.
func (f Features) check(o *Order) *refusal {
	if slices.Contains(f.NoTypes, o.Type) {
		words := strings.ToLower(strings.ReplaceAll(o.Type, "_", " "))
		return unsupported(strings.ToUpper(words[:1]) + words[1:] + " orders are")
	}
	if f.NoTrailing && o.TrailingDelta > 0 {
		return unsupported("Trailing stop orders are")
	}
	return nil
}

// checkList returns the refusal of a list that the symbol does not have.
func (f Features) checkList(l *List) *refusal {
	switch {
	case f.NoOTO && l.working != nil:
		return unsupported("OTO orders are")
	case f.NoOPO && l.OPO:
		return unsupported("OPO orders are")
	case f.NoOCO && len(l.legs) == 2:
		return unsupported("OCO orders are")
	}
	return nil
}
