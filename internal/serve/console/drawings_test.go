package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// asScript sends a form as the script of the chart does.
func (b *browser) asScript(path string, pairs ...string) response {
	form := url.Values{"token": {b.formToken(path)}}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return b.do(http.MethodPost, path, form, http.Header{"Accept": {"application/json"}})
}

func TestDrawings_AreKeptAndRemoved(t *testing.T) {
	t.Parallel()
	b := newScene(t).browser().login()
	const list = "/console/drawings.json?symbol=BTCUSDT"
	if r := b.get(list); r.status != http.StatusOK || !strings.Contains(r.body, `"symbol":"test:BTCUSDT"`) || !strings.Contains(r.body, `"id":"d-1"`) {
		t.Fatalf("%d %s", r.status, r.body)
	}
	r := b.asScript("/console/drawings/set", "symbol", "BTCUSDT", "type", "measure", "time", "1767225600", "price", "100", "time2", "1767229200", "price2", "101.5")
	if r.status != http.StatusSeeOther || r.header.Get("Location") != "/console/drawings.json?symbol=BTCUSDT" {
		t.Fatalf("%d %v %s", r.status, r.header, r.body)
	}
	if r = b.get(list); !strings.Contains(r.body, `"type":"measure","time":1767225600,"price":"100","time2":1767229200,"price2":"101.5","by":"console"`) {
		t.Errorf("%s", r.body)
	}
	page := b.get("/console/chart/BTCUSDT").body
	for _, want := range []string{"Measure", "by you", "Trend line", "by claude"} {
		if !strings.Contains(page, want) {
			t.Errorf("the list beside the chart has no %q", want)
		}
	}
	if r = b.post("/console/drawings/remove", "symbol", "BTCUSDT", "id", "d-1"); r.header.Get("Location") != "/console/chart/BTCUSDT" {
		t.Errorf("%d %v", r.status, r.header)
	}
	if r = b.get(list); strings.Contains(r.body, `"d-1"`) {
		t.Errorf("it is still there: %s", r.body)
	}
}

func TestDrawings_AreRefusedInWords(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	if r := s.browser().get("/console/drawings.json?symbol=BTCUSDT"); r.status == http.StatusOK {
		t.Errorf("a stranger reads %s", r.body)
	}
	b := s.browser().login()
	for _, c := range [][3]string{
		{"price", "1e99", "a number above 0"}, {"price", "", "price"}, {"type", "circle", "level, line, ray"}, {"time", "x", "seconds since 1970"}, {"symbol", "", "symbol"}, {"id", "d-9", "no drawing d-9"},
	} {
		pairs := []string{"symbol", "BTCUSDT", "type", "line", "time", "1767225600", "price", "100", "time2", "1767229200", "price2", "101.5", c[0], c[1]}
		r := b.asScript("/console/drawings/set", pairs...)
		if r.status < 400 || !strings.HasPrefix(r.body, `{"message":"`) || !strings.Contains(r.body, c[2]) {
			t.Errorf("%s=%s: %d %s", c[0], c[1], r.status, r.body)
		}
	}
	other := url.Values{"token": {b.formToken("/console/drawings/remove")}, "symbol": {"BTCUSDT"}, "type": {"level"}, "price": {"1"}}
	if r := b.do(http.MethodPost, "/console/drawings/set", other, nil); r.status != http.StatusForbidden {
		t.Errorf("the form of another act: %d", r.status)
	}
}
