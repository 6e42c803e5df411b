package control

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"candela/internal/kit/principal"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// Trades has what an owner's orders took out of positions. The owner is "" where there is one.
type Trades interface {
	Trades(ctx context.Context, owner principal.Owner, q order.TradeQuery) (AccountTrades, error)
}

// AccountTrades is a part of the list of the trades of an account.
type AccountTrades struct {
	Account string          `json:"account"`
	Page    order.TradePage `json:"page"`
}

func (s Server) handleTrades(mux *http.ServeMux) {
	mux.HandleFunc("GET /trades", func(w http.ResponseWriter, r *http.Request) {
		var q order.TradeQuery
		if err := json.Unmarshal([]byte(r.FormValue("query")), &q); err != nil {
			s.answerTrading(w, r, nil, fault.Field("query", r.FormValue("query"), "a query for trades"))
			return
		}
		some, err := s.tradesOf(r.Context(), principal.Owner(r.FormValue("owner")), q)
		s.answerTrading(w, r, some, err)
	})
}

// tradesOf asks for the trades of an owner that exists: asking opens the account.
func (s Server) tradesOf(ctx context.Context, owner principal.Owner, q order.TradeQuery) (AccountTrades, error) {
	if s.Owners != nil && s.ManyOwners && owner != "" {
		if _, err := s.Owners.Show(ctx, owner); err != nil {
			return AccountTrades{}, err
		}
	}
	return s.Trades.Trades(ctx, owner, q)
}

// ListTrades returns what an owner's orders took out of positions in the program that trades in a state directory. It
// reports false when none can be reached.
func ListTrades(ctx context.Context, home string, owner principal.Owner, q order.TradeQuery) (some AccountTrades, reached bool, err error) {
	query, err := json.Marshal(q)
	if err != nil {
		return some, false, err
	}
	return callTrader[AccountTrades](ctx, home, http.MethodGet, "/trades?"+url.Values{"owner": {string(owner)}, "query": {string(query)}}.Encode())
}
