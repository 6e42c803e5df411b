package cluster

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	nats "github.com/nats-io/nats-server/v2/server"

	"candela/internal/app"
	"candela/internal/config"
)

// unit is what the tests read of a unit of systemd and its drop-ins.
type unit struct {
	start       string
	environment []string
	credentials map[string]string // names and files
}

// readUnit reads a unit and drop-ins in their order: what comes later wins, and an empty value forgets a list.
func readUnit(t *testing.T, files ...string) *unit {
	t.Helper()
	u := &unit{credentials: map[string]string{}}
	for _, file := range files {
		for line := range strings.Lines(readFile(t, "systemd/"+file)) {
			key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
			switch {
			case !ok || strings.HasPrefix(key, "#"):
			case key == "ExecStart":
				u.start = value
			case key == "Environment":
				u.environment = append(u.environment, strings.Fields(value)...)
			case key == "LoadCredential" && value == "":
				clear(u.credentials)
			case key == "LoadCredential":
				name, path, _ := strings.Cut(value, ":")
				u.credentials[name] = path
			}
		}
	}
	return u
}

// load reads the configuration as the service does at its start. made has the files of secrets.sh; the others are those that an
// operator writes.
func (u *unit) load(t *testing.T, made string, more ...string) *config.Config {
	t.Helper()
	credentials := t.TempDir()
	for name, path := range u.credentials {
		text, err := os.ReadFile(filepath.Join(made, filepath.Base(path)))
		if err != nil {
			text = []byte(strings.Repeat("correct horse ", 3))
		}
		if err := os.WriteFile(filepath.Join(credentials, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	words := strings.Fields(u.start)
	values := map[string]string{}
	for _, variable := range slices.Concat(u.environment, more) {
		name, value, _ := strings.Cut(variable, "=")
		values[name] = strings.NewReplacer("%S", t.TempDir(), "/run/credentials/candela.service/", credentials+"/").Replace(value)
	}
	var environ []string
	for name, value := range values {
		environ = append(environ, name+"="+value)
	}
	cfg, err := app.LoadConfig(config.Input{Args: words[1:], Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// examples returns the variables that candela.env shows as comments.
func examples(t *testing.T, want ...string) (all []string) {
	t.Helper()
	text := readFile(t, "systemd/candela.env")
	for _, name := range want {
		found := regexp.MustCompile(`(?m)^#(` + name + `=\S+)$`).FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("candela.env shows no %s", name)
		}
		all = append(all, found[1])
	}
	return all
}

// TestUnit_StartsEachKindOfServer holds the unit and its drop-ins against the program: one owner or many, alone or as a replica.
func TestUnit_StartsEachKindOfServer(t *testing.T) {
	t.Parallel()
	made := makeSecrets(t, []string{"nats-0"})
	people := []string{"CANDELA_BASE_URL", "CANDELA_OIDC_ISSUER", "CANDELA_OIDC_CLIENT_ID", "CANDELA_OIDC_ALLOW"}
	cluster := []string{"CANDELA_BASE_URL", "CANDELA_NATS_URL", "CANDELA_ADMIN_LISTEN"}
	for name, tt := range map[string]struct {
		files, set   []string
		many, shared bool
	}{
		"one owner":                 {[]string{"candela.service"}, nil, false, false},
		"many owners":               {[]string{"candela.service", "owners.conf"}, people, true, false},
		"a replica":                 {[]string{"candela.service", "replica.conf"}, cluster, false, true},
		"a replica for many owners": {[]string{"candela.service", "owners.conf", "replica.conf"}, slices.Concat(people, cluster[1:]), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := readUnit(t, tt.files...).load(t, made, examples(t, tt.set...)...)
			if cfg.ManyOwners() != tt.many || cfg.Shared() != tt.shared || !cfg.Serve || cfg.OAuth.OwnerPassword.IsZero() != tt.many {
				t.Errorf("many owners %v, replicas %v, serves %v", cfg.ManyOwners(), cfg.Shared(), cfg.Serve)
			}
			if (tt.many || tt.shared) && !cfg.Trade {
				t.Error("it does not trade")
			}
		})
	}
}

// TestUnit_NATSReadsItsFile runs the command by which the unit of the servers says that its file is made.
func TestUnit_NATSReadsItsFile(t *testing.T) {
	t.Setenv("NATS_NAME", "nats-0")
	made := makeSecrets(t, []string{"nats-0", "nats-1", "nats-2"})
	u := readUnit(t, "candela-nats.service")
	rule := regexp.MustCompile(`(?m)^#   sed '([^']+)' deploy/cluster/nats.conf`).FindStringSubmatch(readFile(t, "systemd/candela-nats.service"))
	if rule == nil || u.start != "/usr/bin/nats-server --config /etc/candela-nats/nats.conf" {
		t.Fatalf("%q, %q", rule, u.start)
	}
	out, err := exec.CommandContext(t.Context(), "sed", rule[1], deploy+"cluster/nats.conf").Output()
	if err != nil {
		t.Fatal(err)
	}
	text := string(out)
	for name, path := range u.credentials {
		if !strings.Contains(text, "/run/credentials/candela-nats.service/"+name) || filepath.Base(path) != name {
			t.Errorf("the credential %s is not used", name)
		}
	}
	conf := filepath.Join(made, "nats.conf")
	text = strings.ReplaceAll(text, "/run/credentials/candela-nats.service/", made+"/")
	if err := errors.Join(os.WriteFile(conf, []byte(text), 0o600), os.WriteFile(filepath.Join(made, "permissions.conf"), []byte(readFile(t, "cluster/permissions.conf")), 0o600)); err != nil {
		t.Fatal(err)
	}
	opts, err := nats.ProcessConfigFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	if opts.StoreDir != "/var/lib/candela-nats" || !opts.SyncAlways || !opts.TLSMap {
		t.Errorf("stores in %s, sync always %v", opts.StoreDir, opts.SyncAlways)
	}
}
