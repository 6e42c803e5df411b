package alerts

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"candela/e2e/tape"
)

// fate is the history of one alert in the audit log.
type fate struct {
	want
	made                 time.Time
	sets, fires, cancels int
	record               string
}

// fates reads the audit log by alert, and checks that notifications are numbered
// without a gap.
func (s *scene) fates(events []event) map[string]*fate {
	s.Helper()
	all := map[string]*fate{}
	of := func(id string) *fate {
		if all[id] == nil {
			all[id] = &fate{}
		}
		return all[id]
	}
	last := uint64(0)
	for _, e := range events {
		if !strings.HasPrefix(e.Kind, "alert_") {
			continue
		}
		switch f := of(e.Subject); e.Kind {
		case "alert_set":
			f.sets++
			f.read(s.T, e.Body)
			if e.Client != "harness" {
				s.Errorf("alert %s was set by the client %q", e.Subject, e.Client)
			}
		case "alert_fired":
			f.fires++
			var body struct {
				Notification uint64
				Record       json.RawMessage
			}
			if err := json.Unmarshal(e.Body, &body); err != nil || body.Notification != last+1 {
				s.Errorf("notification %d follows %d: %v", body.Notification, last, err)
			}
			last, f.record = body.Notification, string(body.Record)
		case "alert_canceled":
			f.cancels++
		default:
			s.Errorf("an event nobody caused: %s of %s", e.Kind, e.Subject)
		}
	}
	return all
}

func (f *fate) read(t *testing.T, body json.RawMessage) {
	t.Helper()
	var row struct {
		Symbol, Type, Threshold, Indicator, Signal string
		Created                                    time.Time
	}
	err := json.Unmarshal(body, &row)
	if err == nil && row.Indicator == "" {
		f.Threshold, err = strconv.ParseFloat(row.Threshold, 64)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Symbol, f.Above, f.Indicator, f.Signal, f.made = row.Symbol, row.Type == "price_above", row.Indicator, row.Signal, row.Created
}

// overdue counts the alerts that must have fired by a time and have not.
func (s *scene) overdue(end time.Time) (n int) {
	s.Helper()
	for _, f := range s.fates(audit(s.T, s.home)) {
		if f.fires+f.cancels > 0 {
			continue
		}
		var due bool
		if f.Indicator == "" {
			due = !s.tape.Due(&f.Want, f.made, end).IsZero()
		} else {
			_, _, due = s.tape.First(tape.Signal{Symbol: f.Symbol, Indicator: f.Indicator, Label: f.Signal}, f.made, end)
		}
		if due {
			n++
		}
	}
	return n
}

// judge compares the notifications of the client, the store and the prices.
func (s *scene) judge(f *final) {
	s.Helper()
	n := s.notes
	n.mu.Lock()
	defer n.mu.Unlock()
	for what, times := range n.errors {
		s.Errorf("%d times: %s", times, what)
	}
	all := s.fates(f.events)
	for id := range n.made {
		if all[id] == nil || all[id].sets != 1 {
			s.Errorf("LOST: alert %s was acknowledged and is not in the log", id)
		}
	}
	for id := range n.cancelled {
		if all[id] == nil || all[id].cancels != 1 {
			s.Errorf("alert %s: a cancellation was acknowledged and is not in the log", id)
		}
	}
	c := &count{}
	tp := tape.New(seed)
	for id, fate := range all {
		for _, fault := range f.faults(id, fate, n) {
			s.Error(fault)
		}
		if fate.fires > 0 && !f.fired[id] {
			c.after++
		}
		s.judgeCause(id, fate, f, tp, c)
		c.add(fate, len(n.pushed[id]), len(n.polled[id]))
		for _, records := range [][]string{n.pushed[id], n.polled[id]} {
			for _, record := range records {
				if record != fate.record {
					s.Errorf("alert %s: delivered %s, the log has %s", id, record, fate.record)
				}
			}
		}
	}
	for id := range f.active {
		if all[id] == nil {
			s.Errorf("alert %s is listed and was never set", id)
		}
	}
	s.Logf("%d acknowledged of %d set, %d refused, %s", len(n.made), len(all), n.refused.Load(), c)
	if c.fired == 0 || (c.cancelled == 0 || c.due == 0) && *kills > 8 {
		s.Error("too little happened to say anything")
	}
}

// faults returns the errors of an alert: it has at most one end, and a firing was delivered
// both ways. One that fired after the last read of the log may be listed as active.
func (f *final) faults(id string, of *fate, delivered *notes) []string {
	var all []string
	late := of.fires > 0 && !f.fired[id]
	ends := of.fires + of.cancels
	if f.active[id] && !late {
		ends++
	}
	if of.sets != 1 || ends != 1 {
		all = append(all, fmt.Sprintf("alert %s was set %d times, fired %d times, was cancelled %d times, is active: %v", id, of.sets, of.fires, of.cancels, f.active[id]))
	}
	pushes, polls := len(delivered.pushed[id]), len(delivered.polled[id])
	if f.fired[id] && (pushes == 0 || polls == 0) {
		all = append(all, fmt.Sprintf("LOST: alert %s fired and was pushed %d times, polled %d times: %s", id, pushes, polls, of.record))
	}
	if of.fires == 0 && pushes+polls > 0 {
		all = append(all, fmt.Sprintf("alert %s was delivered and has not fired", id))
	}
	return all
}

// judgeCause holds an alert against the prices.
func (s *scene) judgeCause(id string, f *fate, end *final, tp *tape.Tape, c *count) {
	s.Helper()
	var fired firing
	if f.fires > 0 {
		if err := json.Unmarshal([]byte(f.record), &fired); err != nil {
			s.Fatal(err)
		}
	}
	if f.Indicator != "" {
		s.judgeSignal(id, f, &fired, end, c)
		return
	}
	due := !tp.Due(&f.Want, f.made, end.at).IsZero()
	if due {
		c.due++
	}
	switch {
	case due && f.fires == 0 && f.cancels == 0:
		s.Errorf("MISSED: alert %s, %+v, made %v, was due by %v", id, f.want, f.made, end.at)
	case f.fires == 0:
	case !tp.Caused(&f.Want, f.made, fired.Triggered):
		s.Errorf("alert %s, %+v, made %v, fired without a cause: %s", id, f.want, f.made, f.record)
	case f.Above && fired.Value < f.Threshold, !f.Above && fired.Value > f.Threshold:
		s.Errorf("alert %s, %+v, fired short of its threshold: %s", id, f.want, f.record)
	}
}

// judgeSignal holds an alert against the chart: the first bar that closed after it
// was made and shows the signal must have fired it, with the chart's value.
func (s *scene) judgeSignal(id string, f *fate, fired *firing, end *final, c *count) {
	s.Helper()
	at, y, found := end.charts[f.Symbol].first(f, end.at)
	if found {
		c.due++
	}
	switch {
	case found && f.fires == 0:
		s.Errorf("MISSED: alert %s, %+v, made %v: the chart shows it at %v", id, f.want, f.made, at)
	case !found && f.fires > 0 && fired.Triggered.Before(end.at):
		s.Errorf("alert %s, %+v, made %v: the chart does not show %s", id, f.want, f.made, f.record)
	case found && (!fired.Triggered.Equal(at) || fired.Value != y):
		s.Errorf("alert %s, %+v: %s, the chart shows %v at %v", id, f.want, f.record, y, at)
	case found:
		c.signals++
	}
}

// count sums up for the log.
type count struct{ fired, due, signals, cancelled, late, pushes, polls, after int }

func (c *count) add(f *fate, pushes, polls int) {
	c.fired += f.fires
	c.cancelled += f.cancels
	c.pushes += pushes
	c.polls += polls
	if strings.Contains(f.record, `"late":true`) {
		c.late++
	}
}

func (c *count) String() string {
	return fmt.Sprintf("%d fired (%d late, %d by signals, %d after the last look), each once; %d were due for certain; %d cancelled; delivered %d times by push, %d by poll",
		c.fired, c.late, c.signals, c.after, c.due, c.cancelled, c.pushes, c.polls)
}

// series is a chart of minutes: the signals by indicator.
type series struct {
	Indicators map[string]struct {
		Signals []struct {
			T     int64   `json:"t"`
			Y     float64 `json:"y"`
			Label string  `json:"label"`
		} `json:"signals"`
	} `json:"indicators"`
}

// readSeries asks for a chart that reaches back far enough.
func readSeries(t *testing.T, c client, symbol string, back time.Duration) series {
	t.Helper()
	arguments := fmt.Sprintf(`{"symbol":%q,"interval":"1m","bars":%d,"format":"series","indicators":["heikin_ashi","wavetrend","macd"]}`, symbol, 5+int(back.Minutes()))
	var got series
	if err := json.Unmarshal(must(t, c, "generate_chart", arguments), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// first returns when and with which value a chart shows for the first time what an
// alert waits for.
func (s series) first(f *fate, end time.Time) (at time.Time, y float64, found bool) {
	for _, signal := range s.Indicators[f.Indicator].Signals {
		if closed := time.Unix(signal.T+60, 0); signal.Label == f.Signal && closed.After(f.made) && !closed.After(end) {
			return closed, signal.Y, true
		}
	}
	return time.Time{}, 0, false
}
