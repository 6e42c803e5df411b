package hostdesk

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"candela/internal/access/door"
	"candela/internal/access/owners"
	"candela/internal/access/plan"
	"candela/internal/kit/principal"
	"candela/internal/work/hosting"
	"candela/lib/fault"
)

// maxBody bounds the body of a request of a program, in bytes.
const maxBody = 4 << 20

// call is a request of a program that has logged in.
type call struct {
	w  http.ResponseWriter
	r  *http.Request
	in *session
}

// handleAPI serves programs: they log in with the passphrase and then send what they got as a bearer token. Cookies count for nothing
// here, and the pages take no token, so nothing that a browser sends by itself does anything.
func (d *Desk) handleAPI(mux *http.ServeMux) {
	mux.HandleFunc("POST "+Root+"/api/login", d.apiLogin)
	for pattern, serve := range map[string]func(call) (any, error){
		"GET " + Root + "/api/figures":             d.apiFigures,
		"GET " + Root + "/api/people":              d.apiPeople,
		"GET " + Root + "/api/people/{id}":         d.apiPerson,
		"GET " + Root + "/api/people/{id}/clients": d.apiClients,
		"GET " + Root + "/api/plans":               d.apiPlans,
		"GET " + Root + "/api/health":              func(call) (any, error) { return d.cfg.Health(), nil },
		"POST " + Root + "/api/logout": func(c call) (any, error) {
			d.sessions.end(c.in)
			return struct{}{}, nil
		},
	} {
		mux.HandleFunc(pattern, d.api(func(c call) {
			value, err := serve(c)
			d.answer(c.w, c.r, value, err)
		}))
	}
	mux.HandleFunc("GET "+Root+"/api/people/{id}/export", d.api(d.apiExport))
	mux.HandleFunc("POST "+Root+"/api/acts", d.api(d.apiActs))
	mux.HandleFunc("GET "+Root+"/api/", d.api(func(c call) {
		d.answer(c.w, c.r, nil, fault.New(fault.NotFound, "no_page", "there is nothing at %s", c.r.URL.Path))
	}))
}

func (d *Desk) api(serve func(call)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		secret, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		in := d.sessions.of(secret)
		if !ok || in == nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
			d.answerStatus(w, http.StatusUnauthorized, fault.New(fault.Unauthorized, "not_logged_in", "log in at %s/api/login and send the token as a bearer token", Root))
			return
		}
		serve(call{w, r, in})
	}
}

func (d *Desk) answer(w http.ResponseWriter, r *http.Request, value any, err error) {
	if err == nil {
		d.answerStatus(w, http.StatusOK, value)
		return
	}
	f := fault.Of(err)
	if f == nil || f.Kind == fault.Internal {
		f = fault.New(fault.Internal, "internal", "%s", d.public(r.Context(), err))
	}
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((f.RetryAfter+time.Second-1)/time.Second)))
	}
	d.answerStatus(w, door.StatusOf(err), map[string]any{"error": f})
}

func (d *Desk) answerStatus(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the program may have left
}

// readJSON reads the body of a request. A browser sends that kind to another origin only after it has asked.
func readJSON(w http.ResponseWriter, r *http.Request, to any) error {
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); !strings.EqualFold(strings.TrimSpace(kind), "application/json") {
		return fault.Field("Content-Type", kind, "application/json")
	}
	decode := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	decode.DisallowUnknownFields()
	if err := decode.Decode(to); err != nil {
		return fault.New(fault.Invalid, "invalid_request", "the body could not be read: %v", err)
	}
	return nil
}

func (d *Desk) apiLogin(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Passphrase string `json:"passphrase"`
		Who        string `json:"who"`
	}
	err := readJSON(w, r, &asked)
	var in *session
	if err == nil {
		in, err = d.enter(r, asked.Passphrase, asked.Who)
	}
	if err != nil {
		d.answer(w, r, nil, err)
		return
	}
	d.answerStatus(w, http.StatusOK, map[string]any{"token": in.secret, "expires": in.since.Add(lifetime).UTC()})
}

func (d *Desk) apiFigures(c call) (any, error) { return d.cfg.Desk.Figures(c.r.Context(), d.cfg.Now()) }

// personal reports whether a program asks for names, and records it.
func (d *Desk) personal(c call, people int) (bool, error) {
	if c.r.FormValue("personal") != "true" {
		return false, nil
	}
	return true, d.cfg.Desk.NoteNames(c.r.Context(), c.in.who, people)
}

func withoutNames(o owners.Owner) owners.Owner {
	o.Name, o.Email, o.Subject = "", "", ""
	return o
}

func (d *Desk) apiPeople(c call) (any, error) {
	state, err := owners.ParseState(c.r.FormValue("state"))
	if err != nil {
		return nil, err
	}
	page, err := d.cfg.Desk.List(c.r.Context(), principal.Owner(c.r.FormValue("after")), owners.Filter{State: state, Plan: c.r.FormValue("plan")}, rowsOfPage*2)
	if err != nil {
		return nil, err
	}
	names, err := d.personal(c, len(page.Owners))
	if err != nil {
		return nil, err
	}
	if !names {
		for i, o := range page.Owners {
			page.Owners[i] = withoutNames(o)
		}
	}
	return page, nil
}

func (d *Desk) apiPerson(c call) (any, error) {
	detail, err := d.cfg.Desk.Show(c.r.Context(), principal.Owner(c.r.PathValue("id")))
	if err != nil {
		return nil, err
	}
	names, err := d.personal(c, 1)
	if !names {
		detail.Owner = withoutNames(detail.Owner)
	}
	return detail, err
}

func (d *Desk) apiClients(c call) (any, error) {
	tokens, err := d.cfg.Desk.Logins.Tokens(c.r.Context(), principal.Owner(c.r.PathValue("id")))
	type client struct {
		ID      string    `json:"id"`
		Name    string    `json:"name,omitempty"` // as the client calls itself
		Scope   string    `json:"scope,omitempty"`
		Browser bool      `json:"browser,omitempty"`
		Issued  time.Time `json:"issued"`
		Expires time.Time `json:"expires"`
	}
	all := make([]client, 0, len(tokens))
	for _, t := range tokens {
		all = append(all, client{t.ID, t.Grant.ClientName, t.Grant.Access().String(), t.Grant.Login, t.Issued, t.Expires})
	}
	return all, err
}

func (d *Desk) apiPlans(call) (any, error) {
	table := d.cfg.Plans()
	all := map[string]map[string]int{}
	for _, name := range table.Names() {
		all[name] = map[string]int{}
		for _, l := range table.Limits(name) {
			all[name][l.Key] = l.Value
		}
	}
	return map[string]any{"default": plan.Default, "plans": all}, nil
}

func (d *Desk) apiExport(c call) {
	id := principal.Owner(c.r.PathValue("id"))
	_, err := d.cfg.Desk.Show(c.r.Context(), id)
	if err == nil {
		err = d.cfg.Desk.NoteExport(c.r.Context(), c.in.who, id)
	}
	if err != nil {
		d.answer(c.w, c.r, nil, err)
		return
	}
	d.writeExport(c.w, c.r, id)
}

// apiActs answers with a line of JSON for each person, as soon as it is done.
func (d *Desk) apiActs(c call) {
	var asked struct {
		hosting.Order
		hosting.Choice
	}
	err := readJSON(c.w, c.r, &asked)
	if err == nil {
		err = asked.Check()
	}
	var ids []principal.Owner
	if err == nil {
		ids, err = d.cfg.Desk.Chosen(c.r.Context(), asked.Choice)
	}
	if err != nil {
		d.answer(c.w, c.r, nil, err)
		return
	}
	c.w.Header().Set("Content-Type", "application/x-ndjson")
	conn := http.NewResponseController(c.w)
	_ = conn.SetReadDeadline(time.Time{}) // it would end the request
	encode := json.NewEncoder(c.w)
	for result := range d.cfg.Desk.Do(c.r.Context(), c.in.who, asked.Order, ids) {
		_ = conn.SetWriteDeadline(d.cfg.Now().Add(time.Minute))
		if encode.Encode(result) != nil || conn.Flush() != nil {
			return // nobody reads it; what was begun is finished
		}
	}
}
