package fake_test

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
)

func TestGaps_CountWhatHasNoStop(t *testing.T) {
	t.Parallel()
	g, start := fake.NewGaps(decimal.NewFromInt(2)), time.Unix(1_800_000_000, 0)
	for _, s := range []struct {
		after         int64 // seconds
		held, covered int64
	}{
		{0, 10, 10}, {1, 10, 0}, {3, 10, 4}, {5, 6, 6}, // none, a part, all
		{6, 6, 0}, {6, 4, 4}, // within one step
		{7, 4, 3},             // less than a stop is for
		{8, 4, 0}, {11, 0, 0}, // sold
		{12, 5, 0},
	} {
		g.See(time.Unix(start.Unix()+s.after, 0), decimal.NewFromInt(s.held), decimal.NewFromInt(s.covered))
	}
	all := g.All()
	if len(all) != 3 || all[0].To.Sub(all[0].From) != 4*time.Second || !all[0].Quantity.Equal(decimal.NewFromInt(10)) || all[1].To.Sub(all[1].From) != 3*time.Second || !all[2].To.IsZero() {
		t.Errorf("the gaps are %+v", all)
	}
	if longest := g.Longest(start.Add(17 * time.Second)); longest != 5*time.Second {
		t.Errorf("the longest is %v", longest)
	}
}

// TestFaults_DelayAnswers holds that a request takes half the time there and half back.
func TestFaults_DelayAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var faults fake.Faults
		var done time.Time
		network := fake.NewNetwork()
		defer network.Serve("venue.test:80", faults.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			done = time.Now()
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, "short")
		})))()
		client := &http.Client{Transport: &http.Transport{DialContext: network.Dial}}
		defer client.CloseIdleConnections()
		faults.Delay(50 * time.Millisecond)
		for _, fault := range []*fake.Fault{nil, {Body: "short"}} {
			faults.Always(fault)
			start := time.Now()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://venue.test/", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusTeapot || string(body) != "short" {
				t.Errorf("the answer is %d %q, %v", resp.StatusCode, body, err)
			}
			if done.Sub(start) != 25*time.Millisecond || time.Since(start) != 50*time.Millisecond {
				t.Errorf("it was carried out after %v and answered after %v", done.Sub(start), time.Since(start))
			}
		}
	})
}
