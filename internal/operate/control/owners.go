package control

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"candela/internal/access/owners"
	"candela/internal/kit/principal"
	"candela/lib/fault"
)

// Owners is what an operator does with the owners of an installation that has many.
type Owners interface {
	// List returns at most limit records in the order of their ids, from the first after an id,
	// and whether there are more. An empty state or plan matches all.
	List(ctx context.Context, after principal.Owner, state owners.State, plan string, limit int) (owners.Page, error)
	Show(ctx context.Context, id principal.Owner) (owners.Detail, error)
	// Suspend ends the owner's logins and refuses new ones; Resume allows them again.
	Suspend(ctx context.Context, id principal.Owner) (owners.Owner, error)
	Resume(ctx context.Context, id principal.Owner) (owners.Owner, error)
	Link(ctx context.Context, id principal.Owner, issuer, subject string) (owners.Owner, error)
	SetPlan(ctx context.Context, id principal.Owner, plan string) (owners.Owner, error)
	Export(ctx context.Context, id principal.Owner, row func(owners.ExportedRow) error) error
	// Erase removes what there is of a suspended owner.
	Erase(ctx context.Context, id principal.Owner) (owners.Erasure, error)
}

// maxOwners is how many records a page has.
const maxOwners = 100

func (s Server) handleOwners(mux *http.ServeMux) {
	mux.HandleFunc("GET /owners", func(w http.ResponseWriter, r *http.Request) {
		page, err := s.Owners.List(r.Context(), principal.Owner(r.FormValue("after")), owners.State(r.FormValue("state")), r.FormValue("plan"), maxOwners)
		s.answerTrading(w, r, page, err)
	})
	mux.HandleFunc("GET /owners/{id}", func(w http.ResponseWriter, r *http.Request) {
		one, err := s.Owners.Show(r.Context(), principal.Owner(r.PathValue("id")))
		s.answerTrading(w, r, one, err)
	})
	mux.HandleFunc("DELETE /owners/{id}", func(w http.ResponseWriter, r *http.Request) {
		proof, err := s.Owners.Erase(r.Context(), principal.Owner(r.PathValue("id")))
		s.answerTrading(w, r, proof, err)
	})
	mux.HandleFunc("GET /owners/{id}/export", s.exportOwner)
	for path, do := range map[string]func(ctx context.Context, id principal.Owner, r *http.Request) (owners.Owner, error){
		"suspend": func(ctx context.Context, id principal.Owner, _ *http.Request) (owners.Owner, error) {
			return s.Owners.Suspend(ctx, id)
		},
		"resume": func(ctx context.Context, id principal.Owner, _ *http.Request) (owners.Owner, error) {
			return s.Owners.Resume(ctx, id)
		},
		"plan": func(ctx context.Context, id principal.Owner, r *http.Request) (owners.Owner, error) {
			return s.Owners.SetPlan(ctx, id, r.FormValue("plan"))
		},
		"link": func(ctx context.Context, id principal.Owner, r *http.Request) (owners.Owner, error) {
			return s.Owners.Link(ctx, id, r.FormValue("issuer"), r.FormValue("subject"))
		},
	} {
		mux.HandleFunc("POST /owners/{id}/"+path, func(w http.ResponseWriter, r *http.Request) {
			o, err := do(r.Context(), principal.Owner(r.PathValue("id")), r)
			s.answerTrading(w, r, o, err)
		})
	}
}

// exportOwner writes a line for each row: the table, a blank, one JSON object.
func (s Server) exportOwner(w http.ResponseWriter, r *http.Request) {
	if _, err := s.Owners.Show(r.Context(), principal.Owner(r.PathValue("id"))); err != nil {
		s.answerTrading(w, r, nil, err)
		return
	}
	err := s.Owners.Export(r.Context(), principal.Owner(r.PathValue("id")), func(row owners.ExportedRow) error {
		_, err := w.Write(append(append([]byte(row.Table+" "), row.JSON...), '\n'))
		return err
	})
	if err != nil {
		s.Log.ErrorContext(r.Context(), "export of an owner failed", "error", err)
		panic(http.ErrAbortHandler) // the client must not take a part for the whole
	}
}

// withoutOwners says what errNotFound means for a command about owners.
func withoutOwners(err error) error {
	if errors.Is(err, errNotFound) {
		return &fault.Error{Kind: fault.NotFound, Code: "no_owners", Message: "The program that runs there has no records of owners: they exist with --owners oidc and --trade."}
	}
	return err
}

func callOwners[T any](ctx context.Context, home, method, path string) (T, error) {
	answer, err := call[T](ctx, home, method, path)
	return answer, withoutOwners(err)
}

// ListOwners returns a page of owners of the server.
func ListOwners(ctx context.Context, home string, after principal.Owner, state, plan string) (owners.Page, error) {
	return callOwners[owners.Page](ctx, home, http.MethodGet, "/owners?"+url.Values{"after": {string(after)}, "state": {state}, "plan": {plan}}.Encode())
}

// ShowOwner returns an owner of the server.
func ShowOwner(ctx context.Context, home string, id principal.Owner) (owners.Detail, error) {
	return callOwners[owners.Detail](ctx, home, http.MethodGet, "/owners/"+url.PathEscape(string(id)))
}

// ChangeOwner suspends, resumes or links an owner, or sets its plan, and returns its record.
func ChangeOwner(ctx context.Context, home string, id principal.Owner, change string, values url.Values) (owners.Owner, error) {
	return callOwners[owners.Owner](ctx, home, http.MethodPost, "/owners/"+url.PathEscape(string(id))+"/"+change+"?"+values.Encode())
}

// EraseOwner erases a suspended owner of the server and returns the proof.
func EraseOwner(ctx context.Context, home string, id principal.Owner) (owners.Erasure, error) {
	return callOwners[owners.Erasure](ctx, home, http.MethodDelete, "/owners/"+url.PathEscape(string(id)))
}

// ExportOwner returns everything that the server has of an owner: lines of a table's name, a
// blank and a JSON object.
func ExportOwner(ctx context.Context, home string, id principal.Owner) ([]byte, error) {
	text, err := send(ctx, home, http.MethodGet, "/owners/"+url.PathEscape(string(id))+"/export")
	if len(text) == maxAnswer {
		return nil, fault.New(fault.Unsupported, "too_large", "the export is larger than %s bytes", strconv.Itoa(maxAnswer))
	}
	return text, withoutOwners(err)
}
