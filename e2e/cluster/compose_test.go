package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
		Image       string            `yaml:"image"`
		Command     []string          `yaml:"command"`
		Environment map[string]string `yaml:"environment"`
		Secrets     []string          `yaml:"secrets"`
		Volumes     []string          `yaml:"volumes"`
	} `yaml:"services"`
	Volumes map[string]any `yaml:"volumes"`
	Secrets map[string]any `yaml:"secrets"`
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
	first := c.Services[replicas[0]]
	cfg := loadReplica(t, made, first.Command, first.Environment, first.Secrets)
	for _, name := range replicas {
		if s := c.Services[name]; !slices.Equal(s.Command, first.Command) || !maps.Equal(s.Environment, first.Environment) || !slices.Equal(s.Secrets, first.Secrets) {
			t.Errorf("%s runs with other settings than %s", name, replicas[0])
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

// secretFiles are the files of the secrets of compose.yaml, by their names there.
func secretFiles() map[string]string {
	return map[string]string{
		"owner-password": "owner-password", "oidc-client-secret": "oidc-client-secret", "cluster-secret": "cluster-secret",
		"candela-cert": "candela.pem", "candela-key": "candela-key.pem", "ca": "ca.pem",
	}
}

// loadReplica reads flags and variables as candela does at its start. Only the secrets that are named are there.
func loadReplica(t *testing.T, made string, command []string, environment map[string]string, secrets []string) *config.Config {
	t.Helper()
	mounted := t.TempDir()
	for _, name := range secrets {
		text, err := os.ReadFile(filepath.Join(made, secretFiles()[name]))
		if errors.Is(err, fs.ErrNotExist) { // of those that a person writes
			text = []byte(strings.Repeat("correct horse ", 3))
		} else if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(mounted, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	values := map[string]string{
		"CANDELA_HOST": "charts.example.com", "CANDELA_OIDC_ISSUER": "https://id.example.com", "CANDELA_OIDC_CLIENT_ID": "candela", "CANDELA_OIDC_ALLOW": "group:traders",
	}
	filled := func(text string) string {
		text = regexp.MustCompile(`\$\{(\w+):[^}]*\}`).ReplaceAllStringFunc(text, func(v string) string {
			name, _, _ := strings.Cut(strings.TrimPrefix(v, "${"), ":")
			return values[name]
		})
		return strings.ReplaceAll(text, "/run/secrets/", mounted+"/")
	}
	args := []string{"--home", t.TempDir()}
	for _, arg := range command {
		args = append(args, filled(arg))
	}
	var environ []string
	for name, value := range environment {
		environ = append(environ, name+"="+filled(value))
	}
	cfg, err := app.LoadConfig(config.Input{Args: args, Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// TestCompose_ManyOwners holds compose.owners.yaml, on top of compose.yaml, against the program.
func TestCompose_ManyOwners(t *testing.T) {
	t.Parallel()
	var c, over composed
	for file, into := range map[string]*composed{"compose.yaml": &c, "compose.owners.yaml": &over} {
		if err := yaml.Unmarshal([]byte(readFile(t, file)), into); err != nil {
			t.Fatal(err)
		}
	}
	made := makeSecrets(t, c.of("nats"))
	replicas := c.of("candela")
	if len(over.Services) != len(replicas) {
		t.Errorf("%d replicas, and %d for many owners", len(replicas), len(over.Services))
	}
	for _, name := range replicas {
		changed := over.Services[name]
		environment := maps.Clone(c.Services[name].Environment)
		maps.Copy(environment, changed.Environment)
		for _, secret := range changed.Secrets { // they take the place of those of compose.yaml
			if one, ok := over.Secrets[secret]; (!ok || one == nil) && c.Secrets[secret] == nil {
				t.Errorf("%s wants the secret %s, which is not there", name, secret)
			}
		}
		cfg := loadReplica(t, made, c.Services[name].Command, environment, changed.Secrets)
		if !cfg.ManyOwners() || !cfg.Shared() || !cfg.Trade || !slices.Equal(cfg.Owners.Allow, []string{"group:traders"}) {
			t.Errorf("%s: many owners %v, replicas %v, trades %v, allows %q", name, cfg.ManyOwners(), cfg.Shared(), cfg.Trade, cfg.Owners.Allow)
		}
	}
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
