package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	nats "github.com/nats-io/nats-server/v2/server"
	"go.yaml.in/yaml/v3"

	"candela/internal/app"
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
	made := makeSecrets(t, servers)
	cfg := loadReplica(t, made, c.Services[replicas[0]].Command)
	for _, name := range replicas {
		if !slices.Equal(c.Services[name].Command, c.Services[replicas[0]].Command) {
			t.Errorf("%s runs with other flags than %s", name, replicas[0])
		}
	}
	for name, s := range c.Services {
		for _, volume := range s.Volumes {
			from, _, _ := strings.Cut(volume, ":")
			_, ok := c.Volumes[from]
			switch {
			case ok:
			case !strings.HasPrefix(from, "./"):
				t.Errorf("%s mounts %s, which is no volume", name, from)
			case strings.HasPrefix(from, "./cluster/secrets/"):
				if _, err := os.Stat(filepath.Join(made, filepath.Base(from))); err != nil {
					t.Errorf("%s mounts what secrets.sh does not make: %v", name, err)
				}
			default:
				readFile(t, from)
			}
		}
	}
	var urls, routes []string
	for _, name := range servers {
		urls = append(urls, "tls://"+name+":4222")
		routes = append(routes, "nats://"+name+":6222")
	}
	if want := strings.Join(urls, ","); cfg.NATS.URL != want {
		t.Errorf("--nats-url is %s, the servers are %s", cfg.NATS.URL, want)
	}
	judgeServer(t, made, routes)
	judgeBalancer(t, cfg, replicas)
}

// makeSecrets runs secrets.sh, twice, and returns its folder.
func makeSecrets(t *testing.T, servers []string) string {
	t.Helper()
	dir := t.TempDir()
	var first []byte
	for range 2 {
		out, err := exec.CommandContext(t.Context(), "sh", append([]string{deploy + "cluster/secrets.sh", dir}, servers...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("secrets.sh: %v: %s", err, out)
		}
		now, err := os.ReadFile(filepath.Join(dir, "cluster-secret"))
		if err != nil || first != nil && !slices.Equal(first, now) {
			t.Fatalf("the secret is another after a second run, %v", err)
		}
		first = now
	}
	return dir
}

// loadReplica reads flags as candela does at its start.
func loadReplica(t *testing.T, made string, command []string) *config.Config {
	t.Helper()
	if err := os.WriteFile(filepath.Join(made, "owner-password"), []byte(strings.Repeat("correct horse ", 3)), 0o600); err != nil {
		t.Fatal(err)
	}
	files := strings.NewReplacer("/run/secrets/owner-password", made+"/owner-password", "/run/secrets/cluster-secret", made+"/cluster-secret",
		"/run/secrets/candela-cert", made+"/candela.pem", "/run/secrets/candela-key", made+"/candela-key.pem", "/run/secrets/ca", made+"/ca.pem")
	host := regexp.MustCompile(`\$\{CANDELA_HOST[^}]*\}`)
	args := []string{"--home", t.TempDir()}
	for _, arg := range command {
		args = append(args, files.Replace(host.ReplaceAllString(arg, "charts.example.com")))
	}
	cfg, err := app.LoadConfig(config.Input{Args: args})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// judgeServer reads nats.conf as nats-server does.
func judgeServer(t *testing.T, made string, routes []string) {
	t.Helper()
	text := strings.ReplaceAll(readFile(t, "cluster/nats.conf"), "/etc/nats/tls/", made+"/")
	conf := filepath.Join(made, "nats.conf")
	if err := errors.Join(os.WriteFile(conf, []byte(text), 0o600), os.WriteFile(filepath.Join(made, "permissions.conf"), []byte(readFile(t, "cluster/permissions.conf")), 0o600)); err != nil {
		t.Fatal(err)
	}
	opts, err := nats.ProcessConfigFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	if len(opts.Users) != 1 || opts.Users[0].Username != "CN=candela" || opts.Users[0].Permissions == nil || opts.NoAuthUser != "" || !opts.TLSMap || opts.Cluster.TLSConfig == nil || !opts.Cluster.TLSCheckKnownURLs {
		t.Errorf("nats.conf lets in %+v, by certificate: %v", opts.Users, opts.TLSMap)
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
