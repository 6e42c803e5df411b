package hostdesk

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"candela/internal/access/door"
	"candela/internal/access/owners"
	"candela/internal/access/plan"
	"candela/internal/kit/principal"
	"candela/internal/serve/console"
	"candela/internal/work/hosting"
	"candela/lib/fault"
)

// rowsOfPage is how many people a page shows.
const rowsOfPage = 50

type peopleData struct {
	States            []choice
	State, Plan, Text string
	Plans             []string
	Rows              []row
	Next              string // link, "" after the last page
	First             string // link, "" on the first page
	Took              time.Duration
}

type choice struct {
	Name, Link string
	Count      int
	Current    bool
}

// row is a person as lists show them.
type row struct {
	owners.Owner
	Label  string // a name, or the beginning of the id
	Plan   string
	Alerts meter
	Known  bool // what the person has was read
	Count  int  // clients and browser logins
}

// meter is how much of a limit is used.
type meter struct {
	Key         string
	Used, Limit int
}

// Share returns the used part in per cent; Class marks one that is nearly used up.
func (m meter) Share() int {
	if m.Limit == 0 {
		return 0
	}
	return min(100, 100*m.Used/m.Limit)
}

func (m meter) Class() string {
	switch share := m.Share(); {
	case share >= 99:
		return "bad"
	case share >= 90:
		return "warn"
	}
	return ""
}

// people shows the list of people.
func (d *Desk) people(v *visit) {
	q := v.r.URL.Query()
	state, err := owners.ParseState(q.Get("state"))
	if err != nil {
		d.fail(v, err)
		return
	}
	f := owners.Filter{State: state, Plan: fault.Clean(q.Get("plan"), 60)}
	names := v.now.Before(v.in.namesUntil())
	began := time.Now()
	page, err := d.cfg.Desk.Find(v.ctx(), hosting.Search{After: principal.Owner(q.Get("after")), Filter: f, Text: fault.Clean(q.Get("q"), 60), Names: names, Limit: rowsOfPage})
	if err != nil {
		d.fail(v, err)
		return
	}
	data := peopleData{State: string(state), Plan: f.Plan, Text: q.Get("q"), Plans: d.cfg.Plans().Names()}
	for _, o := range page.Owners {
		one := row{Owner: o, Label: labelOf(o, names), Plan: planOf(o)}
		if detail, err := d.cfg.Desk.Show(v.ctx(), o.ID); err == nil {
			one.Known, one.Count = true, detail.Clients
			one.Alerts = meter{"alerts", detail.Alerts, d.cfg.Plans().Of(o.Plan).Alerts}
		}
		if !names {
			one.Name, one.Email = "", ""
		}
		data.Rows = append(data.Rows, one)
	}
	data.Took = time.Since(began).Round(time.Millisecond)
	if page.More && len(page.Owners) > 0 {
		data.Next = link(q, "after", string(page.Owners[len(page.Owners)-1].ID))
	}
	if q.Get("after") != "" {
		data.First = link(q, "after", "")
	}
	figures, _ := d.cfg.Desk.Figures(v.ctx(), v.now)
	q.Del("after")
	data.States = append(data.States, choice{"All", link(q, "state", ""), figures.Total, state == ""})
	for _, s := range []owners.State{owners.Active, owners.Suspended, owners.Erased} {
		data.States = append(data.States, choice{string(s), link(q, "state", string(s)), figures.States[s], s == state})
	}
	d.show(v, "people", "People", data)
}

// link returns the address of the list with another value of a parameter.
func link(q url.Values, name, value string) string {
	next := url.Values{}
	for key := range q {
		next.Set(key, q.Get(key))
	}
	next.Set(name, value)
	if value == "" {
		next.Del(name)
	}
	return Root + "/?" + next.Encode()
}

func labelOf(o owners.Owner, names bool) string {
	switch {
	case o.State == owners.Erased:
		return "(erased)"
	case names && o.Name+o.Email != "":
		return fault.Clean(cmp.Or(o.Name, o.Email), 60)
	}
	return "person " + short(o.ID)
}

// short is the beginning of an id.
func short(id principal.Owner) string { return string(id[:min(len(id), 8)]) }

func planOf(o owners.Owner) string {
	if o.State == owners.Erased {
		return ""
	}
	return cmp.Or(o.Plan, plan.Default)
}

type personData struct {
	row
	Limits  []meter
	Rest    []plan.Limit // limits of the plan whose use is not counted here
	Clients []clientRow
	Plans   []string
}

type clientRow struct {
	ID, Name, Target, Scope string
	Login                   bool
	Since, Ends             time.Time
}

// person shows one person.
func (d *Desk) person(v *visit) {
	id := principal.Owner(v.r.PathValue("id"))
	detail, err := d.cfg.Desk.Show(v.ctx(), id)
	if err != nil {
		d.fail(v, err)
		return
	}
	tokens, err := d.cfg.Desk.Logins.Tokens(v.ctx(), id)
	if err != nil {
		d.fail(v, err)
		return
	}
	names := v.now.Before(v.in.namesUntil())
	data := personData{row: row{Owner: detail.Owner, Label: labelOf(detail.Owner, names), Plan: planOf(detail.Owner), Known: true, Count: detail.Clients}, Plans: d.cfg.Plans().Names()}
	if !names {
		data.Name, data.Email, data.Subject = "", "", ""
	}
	for _, l := range d.cfg.Plans().Limits(detail.Plan) {
		if l.Key == "alerts" {
			data.Limits = append(data.Limits, meter{l.Key, detail.Alerts, l.Value})
			continue
		}
		data.Rest = append(data.Rest, l)
	}
	data.Limits = append(data.Limits, meter{"clients and logins", detail.Clients, hosting.MaxLogins()})
	for _, t := range tokens {
		data.Clients = append(data.Clients, clientRow{
			ID: t.ID, Name: cmp.Or(fault.Clean(t.Grant.ClientName, 60), "no name"), Target: fault.Clean(t.Grant.Target, 60), Scope: t.Grant.Access().String(),
			Login: t.Grant.Login, Since: t.Issued, Ends: t.Expires,
		})
	}
	d.show(v, "person", data.Label, data)
}

type plansData struct {
	Names  []string
	People []int
	Limits []limitRow
}

type limitRow struct {
	Key    string
	Values []int
}

// plans shows the plans that are in force.
func (d *Desk) plans(v *visit) {
	figures, err := d.cfg.Desk.Figures(v.ctx(), v.now)
	if err != nil {
		d.fail(v, err)
		return
	}
	table := d.cfg.Plans()
	data := plansData{Names: table.Names()}
	for i, name := range data.Names {
		data.People = append(data.People, figures.Plans[name])
		for j, l := range table.Limits(name) {
			if i == 0 {
				data.Limits = append(data.Limits, limitRow{Key: l.Key})
			}
			data.Limits[j].Values = append(data.Limits[j].Values, l.Value)
		}
	}
	d.show(v, "plans", "Plans", data)
}

type healthData struct {
	Parts []console.Part
	Bad   int
}

// health shows how the parts of this program are.
func (d *Desk) health(v *visit) {
	var data healthData
	if d.cfg.Health != nil {
		data.Parts = d.cfg.Health()
	}
	for _, p := range data.Parts {
		if p.Bad {
			data.Bad++
		}
	}
	d.show(v, "health", "Health", data)
}

func (d *Desk) more(v *visit) { d.show(v, "more", "More", nil) }

type askData struct {
	Act           hosting.Act
	Title, Submit string
	Lead          string
	IDs           []row
	Client        string
	Plans         []string
	Plan          string
	Danger, Pass  bool
	Reason        bool
	Mistake       string
	Results       []hosting.Result // of a try of which not all was done
}

// export is the act of the desk alone: a file for the person.
const export hosting.Act = "export"

// asked reads what a form asks for.
func (d *Desk) asked(v *visit) (o hosting.Order, ids []principal.Owner, err error) {
	o = hosting.Order{
		Act: hosting.Act(v.r.PostFormValue("act")), Plan: v.r.PostFormValue("plan"), Reason: fault.Clean(v.r.PostFormValue("reason"), 200), Client: v.r.PostFormValue("client"),
	}
	for _, id := range v.r.PostForm["id"] { //nolint:forbidigo // the fields of a form
		ids = append(ids, principal.Owner(id))
	}
	ids, err = d.cfg.Desk.Chosen(v.ctx(), hosting.Choice{IDs: ids})
	if err == nil && o.Act != export && o.Act != hosting.SetPlan {
		err = o.Check()
	}
	if err == nil && o.Act == export && len(ids) != 1 {
		err = fault.Field("id", strconv.Itoa(len(ids)), "one person")
	}
	return o, ids, err
}

// ask shows what an act would do and whom it would touch.
func (d *Desk) ask(v *visit) {
	o, ids, err := d.asked(v)
	if err != nil {
		d.fail(v, err)
		return
	}
	d.show(v, "ask", "Confirm", d.question(v, o, ids))
}

func (d *Desk) question(v *visit, o hosting.Order, ids []principal.Owner) askData {
	data := askData{Act: o.Act, Client: o.Client, Plan: o.Plan}
	names := v.now.Before(v.in.namesUntil())
	for _, id := range ids {
		detail, err := d.cfg.Desk.Show(v.ctx(), id)
		if err != nil {
			detail.Owner = owners.Owner{ID: id}
		}
		data.IDs = append(data.IDs, row{Owner: detail.Owner, Label: labelOf(detail.Owner, names), Plan: planOf(detail.Owner), Known: err == nil})
	}
	whom := strconv.Itoa(len(ids)) + " people"
	if len(ids) == 1 {
		whom = data.IDs[0].Label
	}
	texts := map[hosting.Act][3]string{
		hosting.Suspend:   {"Suspend " + whom + "?", "Suspend", "Logins and streams end, and new ones are refused. Alerts stay and do not fire; orders end but for those that protect a position."},
		hosting.Resume:    {"Resume " + whom + "?", "Resume", "They may sign in again, and alerts fire again. Bars that closed meanwhile do not count."},
		hosting.SetPlan:   {"Change the plan of " + whom + "?", "Change plan", "Counts at once, at every replica. A smaller plan ends nothing that exists; it refuses more."},
		hosting.Halt:      {"Halt " + whom + "?", "Halt", "Orders end, stops stay. The person reads your reason, and that only the host lifts it."},
		hosting.Lift:      {"Lift the halt of " + whom + "?", "Lift", "The person may trade again."},
		hosting.EndLogins: {"End the clients of " + whom + "?", "End", "Clients and browsers are logged out. The person can approve them again."},
		hosting.Erase:     {"Erase " + whom + "?", "Erase for good", "Everything that is stored of a suspended person is removed, and the audit log keeps a proof. This is final. Backups keep the data until they end."},
		export:            {"Export " + whom + "?", "Export", "A file with everything that is stored of the person, orders and notes too. It is for the person; do not read it."},
	}
	text := texts[o.Act]
	data.Title, data.Submit, data.Lead = text[0], text[1], text[2]
	if o.Client != "" {
		data.Title, data.Lead = "End this client of "+whom+"?", "Its calls fail from now on. The person can approve it again."
	}
	data.Danger = o.Act == hosting.Erase || o.Act == hosting.Suspend || o.Act == hosting.Halt || o.Act == hosting.EndLogins
	data.Pass, data.Reason = o.Act == hosting.Erase || o.Act == export, o.Act == hosting.Halt
	if o.Act == hosting.SetPlan {
		data.Plans = d.cfg.Plans().Names()
	}
	return data
}

// do carries out what was confirmed.
func (d *Desk) do(v *visit) {
	o, ids, err := d.asked(v)
	if err != nil {
		d.fail(v, err)
		return
	}
	data := d.question(v, o, ids)
	if data.Pass {
		if err := d.check(v.r, v.r.PostFormValue("passphrase")); err != nil {
			v.status, data.Mistake = door.StatusOf(err), d.public(v.ctx(), err)
			d.show(v, "ask", "Confirm", data)
			return
		}
	}
	if o.Act == export {
		d.export(v, ids[0])
		return
	}
	if err := o.Check(); err != nil {
		d.fail(v, err)
		return
	}
	done := 0
	for r := range d.cfg.Desk.Do(v.ctx(), v.in.who, o, ids) {
		if r.Error == nil {
			done++
			continue
		}
		data.Results = append(data.Results, r)
	}
	if len(data.Results) > 0 {
		v.status, data.Mistake = http.StatusConflict, strconv.Itoa(done)+" of "+strconv.Itoa(len(ids))+" were done."
		d.show(v, "ask", "Not all was done", data)
		return
	}
	v.in.leave(data.Submit + ": done for " + strconv.Itoa(done) + ".")
	to := Root + "/"
	if len(ids) == 1 {
		to = Root + "/people/" + url.PathEscape(string(ids[0]))
	}
	d.back(v, to)
}

// export sends everything that is stored of a person as a file of JSON lines.
func (d *Desk) export(v *visit, id principal.Owner) {
	if _, err := d.cfg.Desk.Show(v.ctx(), id); err != nil {
		d.fail(v, err)
		return
	}
	if err := d.cfg.Desk.NoteExport(v.ctx(), v.in.who, id); err != nil {
		d.fail(v, err)
		return
	}
	v.w.Header().Set("Content-Disposition", `attachment; filename="`+short(id)+`.jsonl"`)
	d.writeExport(v.w, v.r, id)
}

func (d *Desk) writeExport(w http.ResponseWriter, r *http.Request, id principal.Owner) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	encode := json.NewEncoder(w)
	err := d.cfg.Desk.Export(r.Context(), id, func(row owners.ExportedRow) error {
		return encode.Encode(struct {
			Table string          `json:"table"`
			Row   json.RawMessage `json:"row"`
		}{row.Table, row.JSON})
	})
	if err != nil {
		d.cfg.Log.ErrorContext(r.Context(), "[Host] export of an owner failed", "error", err)
		panic(http.ErrAbortHandler) // the browser must not take a part for the whole
	}
}
