package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"candela/internal/access/owners"
	"candela/internal/kit/principal"
	"candela/internal/work/hosting"
	"candela/lib/fault"
)

// maxOwners is how many records a page has.
const maxOwners = 100

// maxActs bounds the body of a request that names owners, in bytes.
const maxActs = 4 << 20

// Acts asks for something to be done with some owners.
type Acts struct {
	hosting.Order
	hosting.Choice
	By string `json:"by,omitempty"` // who asks, for the audit log
}

func (s Server) handleOwners(mux *http.ServeMux) {
	mux.HandleFunc("GET /owners", func(w http.ResponseWriter, r *http.Request) {
		state, err := owners.ParseState(r.FormValue("state"))
		var page owners.Page
		if err == nil {
			page, err = s.Owners.List(r.Context(), principal.Owner(r.FormValue("after")), owners.Filter{State: state, Plan: r.FormValue("plan")}, maxOwners)
		}
		s.answerTrading(w, r, page, err)
	})
	mux.HandleFunc("GET /owners/{id}", func(w http.ResponseWriter, r *http.Request) {
		one, err := s.Owners.Show(r.Context(), principal.Owner(r.PathValue("id")))
		s.answerTrading(w, r, one, err)
	})
	mux.HandleFunc("GET /owners/{id}/export", s.exportOwner)
	mux.HandleFunc("POST /owners/{id}/link", func(w http.ResponseWriter, r *http.Request) {
		ctx := owners.WithActor(r.Context(), r.FormValue("by"))
		o, err := s.Owners.Link(ctx, principal.Owner(r.PathValue("id")), r.FormValue("issuer"), r.FormValue("subject"))
		s.answerTrading(w, r, o, err)
	})
	mux.HandleFunc("POST /owners/chosen", func(w http.ResponseWriter, r *http.Request) {
		_, ids, err := s.readActs(w, r)
		s.answerTrading(w, r, ids, err)
	})
	mux.HandleFunc("POST /owners/acts", s.actOnOwners)
}

// readActs reads what shall be done, and for which owners.
func (s Server) readActs(w http.ResponseWriter, r *http.Request) (a Acts, ids []principal.Owner, err error) {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxActs)).Decode(&a); err != nil {
		return a, nil, fault.New(fault.Invalid, "invalid_request", "the request could not be read: %v", err)
	}
	ids, err = s.Owners.Chosen(r.Context(), a.Choice)
	return a, ids, err
}

// actOnOwners writes a line of JSON for each owner, as soon as it is done.
func (s Server) actOnOwners(w http.ResponseWriter, r *http.Request) {
	a, ids, err := s.readActs(w, r)
	if err == nil {
		err = a.Check()
	}
	if err != nil {
		s.answerTrading(w, r, nil, err)
		return
	}
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Time{}) // it would end the request
	encode := json.NewEncoder(w)
	for result := range s.Owners.Do(r.Context(), a.By, a.Order, ids) {
		_ = conn.SetWriteDeadline(time.Now().Add(endTime))
		if encode.Encode(result) != nil || conn.Flush() != nil {
			return // nobody reads it; what was begun is finished
		}
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

// LinkOwner makes a further person an owner of the server.
func LinkOwner(ctx context.Context, home, by string, id principal.Owner, issuer, subject string) (owners.Owner, error) {
	return callOwners[owners.Owner](ctx, home, http.MethodPost, "/owners/"+url.PathEscape(string(id))+"/link?"+url.Values{"issuer": {issuer}, "subject": {subject}, "by": {by}}.Encode())
}

// ReloadPlans puts the plans of the server's file in force.
func ReloadPlans(ctx context.Context, home string) (owners.PlansReloaded, error) {
	return callOwners[owners.PlansReloaded](ctx, home, http.MethodPost, "/plans")
}

// ChosenOwners returns the owners of the server that a choice means.
func ChosenOwners(ctx context.Context, home string, c hosting.Choice) (ids []principal.Owner, err error) {
	err = stream(ctx, home, "/owners/chosen", Acts{Choice: c}, func(line []byte) error { return json.Unmarshal(line, &ids) })
	return ids, withoutOwners(err)
}

// ActOnOwners does something with owners of the server, and passes each result on as soon as it is there.
func ActOnOwners(ctx context.Context, home string, a Acts, each func(hosting.Result) error) error {
	return withoutOwners(stream(ctx, home, "/owners/acts", a, func(line []byte) error {
		var r hosting.Result
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("control socket: %w", err)
		}
		return each(r)
	}))
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
