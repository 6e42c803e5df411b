package owners_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"candela/internal/access/owners"
	"candela/internal/access/plan"
	"candela/internal/store/replica/replicatest"
)

// planned is a replica with a file of plans.
func planned(t *testing.T, prefix, text string) (*owners.Plans, *bytes.Buffer) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plans.toml")
	check(t, os.WriteFile(file, []byte(text), 0o600))
	table, err := plan.Read(file)
	check(t, err)
	var log bytes.Buffer
	p := &owners.Plans{File: file, InForce: &plan.InForce{}, Log: slog.New(slog.NewTextHandler(&log, nil))}
	p.InForce.Set(table)
	r := openWith(t, prefix, func(now owners.SharedPlans) { p.InForce.Set(now.Plans) })
	p.Shared = r.Store
	check(t, p.Adopt(t.Context()))
	return p, &log
}

// All replicas take the plans of the one that was first, or of the last reload, whatever their files say: a replica with an older file that starts later
// changes nothing.
func TestPlans_AllReplicasAdoptTheSame(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	has := func(p *owners.Plans, alerts int) func() bool {
		return func() bool { return p.InForce.Table().Of("pro").Alerts == alerts }
	}
	first, _ := planned(t, prefix, "[pro]\nalerts = 300\n")
	old, log := planned(t, prefix, "[pro]\nalerts = 100\n")
	if !has(first, 300)() || !has(old, 300)() || !strings.Contains(log.String(), "differs") || !strings.Contains(log.String(), "differ=pro") {
		t.Errorf("%+v, %+v, %s", first.InForce.Table().Of("pro"), old.InForce.Table().Of("pro"), log)
	}
	check(t, os.WriteFile(first.File, []byte("[pro]\nalerts = 400\n"), 0o600))
	now, err := first.Reload(t.Context())
	if err != nil || now.Version != 2 || strings.Join(now.Changed, " ") != "pro" || !has(first, 400)() {
		t.Errorf("%+v, %v", now, err)
	}
	replicatest.Eventually(t, "the other replica takes the plans", has(old, 400))
	again, err := first.Reload(t.Context())
	if err != nil || again.Version != 2 || len(again.Changed) != 0 {
		t.Errorf("a reload of the same: %+v, %v", again, err)
	}
	late, _ := planned(t, prefix, "[pro]\nalerts = 300\n")
	if !has(late, 400)() || !has(first, 400)() {
		t.Error("a replica with an older file won")
	}
}
