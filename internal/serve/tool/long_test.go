package tool_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/serve/tool"
)

// held answers no read until it is let go, or the call is cancelled.
func held(t *testing.T) (source waves, begun <-chan struct{}, release func()) {
	t.Helper()
	began, free := make(chan struct{}, 100), make(chan struct{})
	return waves{wait: func(ctx context.Context, _ string) error {
		began <- struct{}{}
		select {
		case <-free:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}}, began, func() { close(free) }
}

const slowScan = `{"symbols":["S1"],"columns":["close"],"wait_seconds":0}`

// status returns the state that a call answers with, and the id of its report.
func status(t *testing.T, r *tool.Registry, who principal.Caller, name, arguments string) (state, id, text string) {
	t.Helper()
	result, err := r.Call(t.Context(), who, name, json.RawMessage(arguments))
	if err != nil {
		t.Fatal(err)
	}
	var a struct {
		Status string
		ID     string `json:"report_id"`
	}
	text = string(result.Content[0].Text)
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatal(err)
	}
	return a.Status, a.ID, text
}

// A call that takes longer than its client waits is answered, goes on, and has its answer later.
func TestLongCall_IsFetchedLater(t *testing.T) {
	t.Parallel()
	source, _, release := held(t)
	r, asked := researching(t, source)
	defer asked.Close()
	state, id, text := status(t, r, caller(), "scan_symbols", slowScan)
	if state != "running" || id == "" || !strings.Contains(text, "get_report") {
		t.Fatal(text)
	}
	if state, again, text := status(t, r, caller(), "get_report", `{"report_id":"`+id+`"}`); state != "running" || again != id {
		t.Error(text)
	}
	other := caller()
	other.Subject = "somebody else"
	if _, _, text := status(t, r, other, "get_report", `{"report_id":"`+id+`"}`); !strings.Contains(text, "unknown_report") {
		t.Errorf("another owner gets %s", text)
	}
	release()
	if state, _, text := status(t, r, caller(), "get_report", `{"report_id":"`+id+`","wait_seconds":55}`); state != "" || !strings.Contains(text, `"complete":true`) {
		t.Error(text)
	}
	if _, _, text := status(t, r, caller(), "get_report", `{"report_id":"`+id+`","part":"rows"}`); !strings.Contains(text, `"part":"rows"`) || !strings.Contains(text, "S1") {
		t.Error(text)
	}
}

// Two calls of an owner go on; a third is waited for, and ends with its client.
func TestLongCall_Bounds(t *testing.T) {
	t.Parallel()
	source, begun, _ := held(t)
	r, asked := researching(t, source)
	for range 2 {
		if state, _, text := status(t, r, caller(), "scan_symbols", slowScan); state != "running" {
			t.Fatal(text)
		}
		<-begun
	}
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := r.Call(ctx, caller(), "scan_symbols", json.RawMessage(slowScan))
		ended <- err
	}()
	<-begun
	leave()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("a call goes on without its client")
	}
	closed := make(chan struct{})
	go func() { asked.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Error("runs do not end with the program")
	}
}
