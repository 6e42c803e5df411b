package replicatest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/store/replica/alerts"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/natstest"
	"candela/internal/store/replica/replicatest"
	"candela/lib/fault"
)

func TestOpenStore_CreatesStreamsOnce(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	replicatest.OpenStore(t, replicatest.Servers(), prefix)
	replicatest.OpenStore(t, replicatest.Servers(), prefix)
	for _, name := range []string{"_ALERTS", "_STATE"} {
		cfg := replicatest.StreamOf(t, replicatest.Servers(), prefix+name).CachedInfo().Config
		if cfg.Replicas != 3 || cfg.Storage != jetstream.FileStorage || cfg.Metadata["candela_schema"] != "2" {
			t.Errorf("%s has %d copies in %v and the schema %q", cfg.Name, cfg.Replicas, cfg.Storage, cfg.Metadata["candela_schema"])
		}
	}
}

func TestOpenStore_RefusesAnotherSchema(t *testing.T) {
	t.Parallel()
	for name, meta := range map[string]map[string]string{"a later one": {"candela_schema": "3"}, "one without seals": {"candela_schema": "1"}, "none": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prefix := replicatest.NewPrefix()
			_, err := replicatest.Admin(t, replicatest.Servers()).CreateStream(t.Context(), jetstream.StreamConfig{Name: prefix + "_ALERTS", Subjects: []string{prefix + ".alert.>"}, Metadata: meta})
			if err != nil {
				t.Fatal(err)
			}
			_, err = alerts.Open(t.Context(), replicatest.Connect(t, replicatest.Servers(), prefix), time.Now)
			if fault.KindOf(err) != fault.Unsupported {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestOpenStore_RefusesAnotherSecret(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	replicatest.OpenStore(t, replicatest.Servers(), prefix)
	other := slices.Repeat(natstest.Secret(), 2)
	conn, err := replicatest.Insist(t, func() (*conn.Conn, error) {
		return conn.Connect(t.Context(), conn.Config{URL: replicatest.Servers().URL(), Prefix: prefix, Secret: other}, replicatest.Quiet())
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = alerts.Open(t.Context(), conn, time.Now)
	if f := fault.Of(err); f == nil || f.Code != "cluster_secret" || !strings.Contains(f.Message, "--cluster-secret-file") {
		t.Errorf("got %v", err)
	}
}
