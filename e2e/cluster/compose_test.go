package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	nats "github.com/nats-io/nats-server/v2/server"
	"go.yaml.in/yaml/v2"

	"candela/internal/config"
)

const deploy = "../../deploy/"

// composed is what the test reads of deploy/compose.yaml.
type composed struct {
	Services map[string]struct {
		Image   string   `yaml:"image"`
		Command []string `yaml:"command"`
		Volumes []string `yaml:"volumes"`
	} `yaml:"services"`
	Volumes map[string]any `yaml:"volumes"`
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(deploy + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// of returns the services that have an image, in order.
func (c *composed) of(image string) (names []string) {
	for name, s := range c.Services {
		if strings.HasPrefix(s.Image, image) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestCompose_IsWhatTheProgramsTake holds deploy/compose.yaml and its files against
// the programs: every flag is one, the whole of them starts, and every name is that
// of a service.
func TestCompose_IsWhatTheProgramsTake(t *testing.T) {
	t.Setenv("NATS_NAME", "nats-0")
	var c composed
	if err := yaml.Unmarshal([]byte(readFile(t, "compose.yaml")), &c); err != nil {
		t.Fatal(err)
	}
	replicas, servers := c.of("candela"), c.of("nats")
	if len(replicas) != 3 || len(servers) != 3 || len(c.of("caddy")) != 1 {
		t.Fatalf("replicas %v, servers %v, balancer %v", replicas, servers, c.of("caddy"))
	}
	cfg := loadReplica(t, c.Services[replicas[0]].Command)
	for _, name := range replicas {
		if !slices.Equal(c.Services[name].Command, c.Services[replicas[0]].Command) {
			t.Errorf("%s runs with other flags than %s", name, replicas[0])
		}
	}
	for name, s := range c.Services {
		for _, volume := range s.Volumes {
			from, _, _ := strings.Cut(volume, ":")
			if _, ok := c.Volumes[from]; !ok && !strings.HasPrefix(from, "./") {
				t.Errorf("%s mounts %s, which is no volume", name, from)
			} else if !ok {
				readFile(t, from)
			}
		}
	}
	var urls, routes []string
	for _, name := range servers {
		urls = append(urls, "nats://"+name+":4222")
		routes = append(routes, "nats://"+name+":6222")
	}
	if want := strings.Join(urls, ","); cfg.NATS.URL != want {
		t.Errorf("--nats-url is %s, the servers are %s", cfg.NATS.URL, want)
	}
	judgeServer(t, routes)
	judgeBalancer(t, cfg, replicas)
}

// loadReplica reads flags as candela does at its start.
func loadReplica(t *testing.T, command []string) *config.Config {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "owner-password")
	if err := os.WriteFile(secret, []byte(strings.Repeat("correct horse ", 3)), 0o600); err != nil {
		t.Fatal(err)
	}
	host := regexp.MustCompile(`\$\{CANDELA_HOST[^}]*\}`)
	args := []string{"--home", t.TempDir()}
	for _, arg := range command {
		args = append(args, strings.ReplaceAll(host.ReplaceAllString(arg, "charts.example.com"), "/run/secrets/owner-password", secret))
	}
	cfg, err := config.Load(config.Input{Args: args})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// judgeServer reads nats.conf as nats-server does.
func judgeServer(t *testing.T, routes []string) {
	t.Helper()
	opts, err := nats.ProcessConfigFile(deploy + "cluster/nats.conf")
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, u := range opts.Routes {
		have = append(have, u.String())
	}
	if !opts.JetStream || !opts.SyncAlways || opts.ServerName != "nats-0" || opts.Port != 4222 || opts.Cluster.Port != 6222 || !slices.Equal(have, routes) {
		t.Errorf("nats.conf: JetStream %v, sync always %v, name %q, ports %d and %d, routes %v", opts.JetStream, opts.SyncAlways, opts.ServerName, opts.Port, opts.Cluster.Port, have)
	}
}

// judgeBalancer holds the Caddyfile against the replicas.
func judgeBalancer(t *testing.T, cfg *config.Config, replicas []string) {
	t.Helper()
	text := readFile(t, "cluster/Caddyfile")
	upstreams := []string{"reverse_proxy"}
	for _, name := range replicas {
		upstreams = append(upstreams, fmt.Sprintf("%s:%d", name, cfg.HTTP.Port))
	}
	for _, line := range []string{strings.Join(upstreams, " ") + " {", "health_uri /readyz", fmt.Sprintf("health_port %d", cfg.HTTP.AdminListen.Port())} {
		if !strings.Contains(text, line) {
			t.Errorf("the Caddyfile has no %q", line)
		}
	}
}
