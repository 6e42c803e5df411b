package control

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"candela/internal/kit/principal"
)

// Alerts is what the owner does with the alerts of a running program. The owner is "" where there
// is one.
type Alerts interface {
	List(ctx context.Context, owner principal.Owner) ([]Alert, error)
	Cancel(ctx context.Context, owner principal.Owner, id string) error
	// Resume lets an alert that was set aside be evaluated again.
	Resume(ctx context.Context, owner principal.Owner, id string) error
}

// The states of an alert that has not ended.
const (
	AlertWaiting      = "waiting"
	AlertNotEvaluated = "not_evaluated" // its venue is not set up in this run
)

// Alert is an alert that has not ended.
type Alert struct {
	ID       string    `json:"alert_id"`
	Symbol   string    `json:"symbol"`
	Interval string    `json:"interval,omitempty"`
	Describe string    `json:"describe"`
	State    string    `json:"state"` // waiting, not_evaluated, broken or set_aside
	Reason   string    `json:"reason,omitempty"`
	Since    time.Time `json:"set_aside_at,omitzero"`
	Created  time.Time `json:"created_at"`
	Expires  time.Time `json:"expires_at,omitzero"`
	Note     string    `json:"note,omitempty"`
	Fires    int       `json:"fires,omitempty"`
	Scripts  []string  `json:"scripts,omitempty"`    // with their versions
	Stored   string    `json:"definition,omitempty"` // of one that cannot be read, as it is stored
}

// AlertChange is the answer to a command that changed an alert.
type AlertChange struct {
	Where string `json:"-"` // where the command was carried out
}

func (s Server) handleAlerts(mux *http.ServeMux) {
	mux.HandleFunc("GET /alerts", func(w http.ResponseWriter, r *http.Request) {
		all, err := s.Alerts.List(r.Context(), principal.Owner(r.FormValue("owner")))
		s.answerTrading(w, r, all, err)
	})
	mux.HandleFunc("DELETE /alerts/{id}", func(w http.ResponseWriter, r *http.Request) {
		err := s.Alerts.Cancel(r.Context(), principal.Owner(r.FormValue("owner")), r.PathValue("id"))
		s.answerTrading(w, r, AlertChange{}, err)
	})
	mux.HandleFunc("POST /alerts/{id}/resume", func(w http.ResponseWriter, r *http.Request) {
		err := s.Alerts.Resume(r.Context(), principal.Owner(r.FormValue("owner")), r.PathValue("id"))
		s.answerTrading(w, r, AlertChange{}, err)
	})
}

// ListAlerts returns the alerts of the program in a state directory. It reports false when none
// can be reached.
func ListAlerts(ctx context.Context, home string, owner principal.Owner) (all []Alert, reached bool, err error) {
	return callTrader[[]Alert](ctx, home, http.MethodGet, "/alerts?"+ownerQuery(owner))
}

// CancelAlert cancels an alert of the program in a state directory. It reports false when none can
// be reached.
func CancelAlert(ctx context.Context, home string, owner principal.Owner, id string) (c AlertChange, reached bool, err error) {
	return changeAlert(ctx, home, http.MethodDelete, "/alerts/"+url.PathEscape(id)+"?"+ownerQuery(owner))
}

// ResumeAlert resumes an alert of the program in a state directory. It reports false when none can
// be reached.
func ResumeAlert(ctx context.Context, home string, owner principal.Owner, id string) (c AlertChange, reached bool, err error) {
	return changeAlert(ctx, home, http.MethodPost, "/alerts/"+url.PathEscape(id)+"/resume?"+ownerQuery(owner))
}

func changeAlert(ctx context.Context, home, method, path string) (c AlertChange, reached bool, err error) {
	c, reached, err = callTrader[AlertChange](ctx, home, method, path)
	c.Where = "in the program that runs there"
	return c, reached, err
}

func ownerQuery(owner principal.Owner) string {
	return url.Values{"owner": {string(owner)}}.Encode()
}
