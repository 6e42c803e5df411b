package tool

import (
	"context"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// Accounts describes the caller's account.
type Accounts interface {
	Account(ctx context.Context, caller principal.Caller) (guard.Account, error)
	// Trades returns what orders took out of positions, newest first.
	Trades(ctx context.Context, caller principal.Caller, q order.TradeQuery) (order.TradePage, error)
}

// Receipts makes receipts of the caller's orders.
type Receipts interface {
	// Receipt returns the receipt of an order as its file has it.
	Receipt(ctx context.Context, caller principal.Caller, id string) ([]byte, error)
}

// accountJSON is an account in a result. Amounts are exact decimals in strings.
type accountJSON struct {
	Mode     string        `json:"mode"`
	Broker   string        `json:"broker"`
	State    string        `json:"trading_state"`
	Why      string        `json:"why,omitempty"`
	Cash     []balanceJSON `json:"cash"`
	Holdings []balanceJSON `json:"holdings"`
	Unread   string        `json:"balances_unknown,omitempty"`
	Equity   *string       `json:"equity"`
	Unpriced []string      `json:"equity_leaves_out,omitempty"`
	DayLoss  string        `json:"day_loss"`
	Earned   earnedJSON    `json:"earned"`
	Limits   []usageJSON   `json:"limits"`
	Policy   []ruleJSON    `json:"policy"`
}

type balanceJSON struct {
	Asset     string  `json:"asset,omitempty"`
	Symbol    string  `json:"symbol,omitempty"`
	Venue     string  `json:"venue,omitempty"`
	Quantity  string  `json:"quantity"`
	Available string  `json:"available"`
	Worth     *string `json:"worth"`
}

type usageJSON struct {
	Rule  string  `json:"rule"`
	Limit string  `json:"limit"`
	Used  string  `json:"used"`
	Left  *string `json:"left"`
}

type ruleJSON struct {
	Rule   string `json:"rule"`
	Symbol string `json:"symbol,omitempty"`
	Limit  string `json:"limit"`
	Denies string `json:"denies,omitempty"`
}

// receiptArg is the argument of get_account.
type receiptArg struct{ orderID string }

func declareReceipt() (*receiptArg, args) {
	a := &receiptArg{}
	return a, args{stringArg("receipt", &a.orderID, 64, "order_id: instead return a signed receipt of that order and its group, 3 to 60 KB, for candela receipt verify.")}
}

// receiptJSON is a receipt in a result: its text, which a file must have byte for byte or as JSON of the same value.
type receiptJSON struct {
	Receipt string `json:"receipt"`
}

func (t *Trading) getAccount() toolSpec {
	return toolSpec{
		name: "get_account", title: "Show the account", trading: true, scope: principal.Read, set: AccountSet,
		description: "Show cash, holdings and equity, what was earned, the loss of the day, what is left of each limit, and the policy that orders must satisfy. " +
			"Sums are in the account's currency. About 6 KB.",
		output: accountOrReceipt(), hints: hints{readOnly: true, idempotent: true, openWorld: true},
		call: calling(declareReceipt, func(ctx context.Context, caller principal.Caller, asked *receiptArg) (mcp.Result, error) {
			if asked.orderID != "" {
				text, err := t.Receipts.Receipt(ctx, caller, asked.orderID)
				return jsonResult(receiptJSON{string(text)}, err)
			}
			a, err := t.Account.Account(ctx, caller)
			return jsonResult(toAccountJSON(a), err)
		}),
	}
}

func toAccountJSON(a guard.Account) accountJSON {
	r := accountJSON{
		Mode: string(a.Mode), Broker: a.Broker, State: a.State.Level().String(), Why: a.State.Explain(),
		Cash: []balanceJSON{}, Holdings: []balanceJSON{}, Unread: a.Unread, Unpriced: a.Unpriced, DayLoss: "0",
		Limits: []usageJSON{}, Policy: []ruleJSON{},
	}
	if a.Unread == "" {
		equity := a.Equity.String()
		r.Equity = &equity
	}
	for _, b := range a.Balances {
		if one := toBalanceJSON(b); b.Cash {
			r.Cash = append(r.Cash, one)
		} else {
			r.Holdings = append(r.Holdings, one)
		}
	}
	for _, u := range a.Usage {
		if u.Rule == guard.LossRule {
			r.DayLoss = u.Used.String()
		}
		one := usageJSON{Rule: u.Rule, Limit: u.Limit.String(), Used: u.Used.String()}
		if left, limited := u.Left(); limited {
			text := left.String()
			one.Left = &text
		}
		r.Limits = append(r.Limits, one)
	}
	r.Earned = toEarnedJSON(a.Earned)
	for _, rule := range a.Rules {
		if !rule.Fixed { // a denial explains the others
			r.Policy = append(r.Policy, ruleJSON{Rule: rule.Name, Limit: rule.Limit, Denies: rule.Denies})
		}
	}
	for _, e := range a.Exceptions {
		r.Policy = append(r.Policy, ruleJSON{Rule: e.Rule, Symbol: e.Symbol.String(), Limit: e.Limit})
	}
	for _, c := range a.Conditions {
		one := ruleJSON{Rule: "entry_condition", Limit: c.Text}
		if !c.Symbol.IsZero() {
			one.Symbol = c.Symbol.String()
		}
		r.Policy = append(r.Policy, one)
	}
	return r
}

func toBalanceJSON(b guard.Balance) balanceJSON {
	r := balanceJSON{Asset: b.Asset, Symbol: b.Symbol.Name, Venue: b.Symbol.Venue, Quantity: b.Quantity.String(), Available: b.Available.String()}
	if b.Worth.Valid {
		worth := b.Worth.Decimal.String()
		r.Worth = &worth
	}
	return r
}

// accountOrReceipt describes both results. What was understood may stand beside either.
func accountOrReceipt() *schema {
	either := []*schema{accountSchema(), object(typedProp("receipt", "string", "JSON text of the receipt."))}
	for _, s := range either {
		s.AdditionalProperties = nil
	}
	return &schema{Type: "object", AnyOf: either}
}

func accountSchema() *schema {
	maybe := func(name, doc string) prop {
		return prop{name, &schema{AnyOf: []*schema{{Type: "string"}, {Type: "null"}}, Description: doc}}
	}
	balance := object(typedProp("asset?", "string", ""), typedProp("symbol?", "string", ""), typedProp("venue?", "string", ""),
		typedProp("quantity", "string", "Exact decimal."), typedProp("available", "string", "Not reserved by open orders."), maybe("worth", "null without a known price."))
	return object(
		enumProp("mode", "", "paper", "live"), typedProp("broker", "string", ""), enumProp("trading_state", "", "ACTIVE", "REDUCING", "HALTED"),
		typedProp("why?", "string", "Why it is not ACTIVE."), listProp("cash", "By currency.", balance), listProp("holdings", "", balance),
		typedProp("balances_unknown?", "string", "Why cash, holdings and equity are missing."), maybe("equity", "Worth of cash and holdings."),
		listProp("equity_leaves_out?", "Without a known price.", &schema{Type: "string"}), typedProp("day_loss", "string", "Since midnight UTC; negative for a profit."),
		prop{"earned", earnedSchema()},
		listProp("limits", "Of the whole account.", object(typedProp("rule", "string", ""), typedProp("limit", "string", ""), typedProp("used", "string", ""), maybe("left", "null without a limit."))),
		listProp("policy", "Every rule that the owner can change, then limits of single symbols.", object(
			typedProp("rule", "string", ""), typedProp("symbol?", "string", ""), typedProp("limit", "string", ""), typedProp("denies?", "string", ""))),
	)
}
