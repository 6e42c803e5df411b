package feargreed_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"candela/internal/data/provider"
	"candela/internal/data/provider/feargreed"
	"candela/internal/data/upstream"
	"candela/lib/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// documented is the publisher's own example, with a second and third day.
const documented = `{"name":"Fear and Greed Index","data":[
{"value":"40","value_classification":"Fear","timestamp":"1551157200","time_until_update":"68499"},
{"value":"47","value_classification":"Neutral","timestamp":"1551070800"},
{"value":63,"value_classification":"Greed","timestamp":1550984400}],"metadata":{"error":null}}`

func ask(t *testing.T, answer string, q provider.SeriesQuery) ([]provider.Point, string, error) {
	t.Helper()
	asked := ""
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.String()
		_, _ = w.Write([]byte(answer))
	}))
	defer web.Close()
	hosts := upstream.NewHosts(nil)
	defer hosts.Close() //nolint:errcheck // it has nothing to report
	points, err := feargreed.New(hosts, web.URL, func() time.Time { return time.Unix(1551200000, 0) }).Series(t.Context(), q)
	return points, asked, err
}

func TestSeries_IsAscendingFromTheValueInForce(t *testing.T) {
	t.Parallel()
	q := provider.SeriesQuery{Name: "fear_greed", From: 1551080000, To: 1551200000}
	points, asked, err := ask(t, documented, q)
	if diff := cmp.Diff([]provider.Point{{T: 1551070800, V: 47}, {T: 1551157200, V: 40}}, points); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if asked != "/fng/?limit=4" {
		t.Errorf("asked %s", asked)
	}
	q.Name = "funding_rate"
	if _, _, err := ask(t, documented, q); fault.KindOf(err) != fault.Invalid {
		t.Errorf("another series: %v", err)
	}
}

func TestSeries_ABadAnswerIsAnError(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"a page":        "<html></html>",
		"half":          documented[:90],
		"no data":       `{"name":"x"}`,
		"too much":      strings.Replace(documented, `"40"`, `"140"`, 1),
		"no number":     strings.Replace(documented, `"40"`, `"low"`, 1),
		"no time":       strings.Replace(documented, `"timestamp":"1551157200",`, "", 1),
		"out of order":  strings.Replace(documented, "1551157200", "1551057200", 1),
		"another shape": `[]`,
	} {
		points, _, err := ask(t, answer, provider.SeriesQuery{Name: "fear_greed", From: 1551080000, To: 1551200000})
		if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "alternative.me") {
			t.Errorf("%s: %v, %v", name, points, err)
		}
	}
}

func FuzzSeries(f *testing.F) {
	f.Add([]byte(documented))
	f.Fuzz(func(t *testing.T, body []byte) {
		points, err := feargreed.Parse(body)
		for i, p := range points {
			if err != nil || p.V < 0 || p.V > 100 || i > 0 && p.T <= points[i-1].T {
				t.Fatalf("%v, %v", points, err)
			}
		}
	})
}
