package control

import (
	"context"
	"net/http"
	"net/url"

	"github.com/shopspring/decimal"

	"candela/internal/work/strategies"
)

// Strategies is what the owner does with strategies that run by themselves.
type Strategies interface {
	ListOwn(ctx context.Context) ([]strategies.View, error)
	ShowOwn(ctx context.Context, id string) (strategies.Shown, error)
	DriftOwn(ctx context.Context, id string) (strategies.Drift, error)
	// Act changes one. act is one of strategies.Acts.
	Act(ctx context.Context, by, act, id string, how strategies.How) (strategies.View, error)
}

// ByStrategies names the command in the records of strategies.
const ByStrategies = "candela strategies"

func (s Server) handleStrategies(mux *http.ServeMux) {
	mux.HandleFunc("GET /strategies", func(w http.ResponseWriter, r *http.Request) {
		all, err := s.Strategies.ListOwn(r.Context())
		s.answerTrading(w, r, all, err)
	})
	mux.HandleFunc("GET /strategies/{id}", func(w http.ResponseWriter, r *http.Request) {
		one, err := s.Strategies.ShowOwn(r.Context(), r.PathValue("id"))
		s.answerTrading(w, r, one, err)
	})
	mux.HandleFunc("GET /strategies/{id}/drift", func(w http.ResponseWriter, r *http.Request) {
		is, err := s.Strategies.DriftOwn(r.Context(), r.PathValue("id"))
		s.answerTrading(w, r, is, err)
	})
	mux.HandleFunc("POST /strategies/{id}/{act}", func(w http.ResponseWriter, r *http.Request) {
		how := strategies.How{Stage: r.FormValue("stage"), Close: r.FormValue("close") == "true", Accept: r.URL.Query()["accept"]}
		var view strategies.View
		var err error
		if how.Limits, err = strategies.LimitsOf(r.FormValue("cap"), r.FormValue("max_loss")); err == nil {
			view, err = s.Strategies.Act(r.Context(), ByStrategies, r.PathValue("act"), r.PathValue("id"), how)
		}
		s.answerTrading(w, r, view, err)
	})
}

// ListStrategies returns the strategies of the program in a state directory. It reports false when none can be reached.
func ListStrategies(ctx context.Context, home string) (all []strategies.View, reached bool, err error) {
	return callTrader[[]strategies.View](ctx, home, http.MethodGet, "/strategies")
}

// ShowStrategy returns a strategy of the program in a state directory.
func ShowStrategy(ctx context.Context, home, id string) (one strategies.Shown, reached bool, err error) {
	return callTrader[strategies.Shown](ctx, home, http.MethodGet, "/strategies/"+url.PathEscape(id))
}

// StrategyDrift compares a strategy of the program in a state directory with its account.
func StrategyDrift(ctx context.Context, home, id string) (is strategies.Drift, reached bool, err error) {
	return callTrader[strategies.Drift](ctx, home, http.MethodGet, "/strategies/"+url.PathEscape(id)+"/drift")
}

// ActOnStrategy changes a strategy of the program in a state directory.
func ActOnStrategy(ctx context.Context, home, act, id string, how strategies.How) (v strategies.View, reached bool, err error) {
	values := url.Values{"stage": {how.Stage}}
	for name, limit := range map[string]decimal.Decimal{"cap": how.Limits.Cap, "max_loss": how.Limits.MaxLoss} {
		if limit.IsPositive() {
			values.Set(name, limit.String())
		}
	}
	values["accept"] = how.Accept
	if how.Close {
		values.Set("close", "true")
	}
	return callTrader[strategies.View](ctx, home, http.MethodPost, "/strategies/"+url.PathEscape(id)+"/"+act+"?"+values.Encode())
}
