package fake_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/testkit/fake"
)

// TestFaults_DoWhatTheySay counts what was carried out under each fault, since
// that is what an order's fate hangs on.
func TestFaults_DoWhatTheySay(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault  fake.Fault
		done   int64
		status int // 0 for no answer
	}{
		"no fault for this":   {fake.Fault{On: func(r *http.Request) bool { return r.Method == http.MethodGet }, Status: 500}, 1, 200},
		"another answer":      {fake.Fault{Status: 503}, 1, 503},
		"another answer only": {fake.Fault{Status: 503, Skip: true}, 0, 503},
		"a hang":              {fake.Fault{Hang: true}, 0, 0},
		"a stall":             {fake.Fault{Stall: true}, 1, 0},
		"a reset":             {fake.Fault{Reset: true}, 1, 0},
		"a reset only":        {fake.Fault{Reset: true, Skip: true}, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			var done atomic.Int64
			var faults fake.Faults
			network := fake.NewNetwork()
			defer network.Serve("venue.test:80", faults.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				done.Add(1)
				_, _ = io.WriteString(w, "{}")
			})))()
			client := &http.Client{Transport: &http.Transport{DialContext: network.Dial}}
			defer client.CloseIdleConnections()
			post := func() int {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://venue.test/", strings.NewReader("{}"))
				if err != nil {
					t.Fatal(err)
				}
				resp, err := client.Do(req)
				if err != nil {
					return 0
				}
				defer resp.Body.Close() //nolint:errcheck // it was only read
				return resp.StatusCode
			}
			faults.Next(tc.fault)
			if status := post(); status != tc.status || done.Load() != tc.done {
				t.Errorf("%s: status %d, carried out %d times", name, status, done.Load())
			}
			faults.Clear()
			if status := post(); status != 200 || done.Load() != tc.done+1 || faults.Asked() != 2 {
				t.Errorf("%s: after it, status %d, carried out %d times", name, status, done.Load())
			}
		})
	}
}
