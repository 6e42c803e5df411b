package check

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"go.yaml.in/yaml/v3"
)

// chart renders the chart with values as Helm does: its functions are those of sprig, include, toYaml and fail.
func chart(t *testing.T, change string) (objects []map[string]any, err error) {
	t.Helper()
	dir := filepath.Join(root, "deploy", "helm", "candela")
	var about, values map[string]any
	for file, into := range map[string]*map[string]any{"Chart.yaml": &about, "values.yaml": &values} {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(data, into); err != nil {
			t.Fatal(err)
		}
	}
	var over map[string]any
	if err := yaml.Unmarshal([]byte(change), &over); err != nil {
		t.Fatal(err)
	}
	merge(t, values, over, "")
	all := template.New("chart").Option("missingkey=error")
	functions := sprig.TxtFuncMap()
	functions["toYaml"] = func(v any) (string, error) {
		data, err := yaml.Marshal(v)
		return strings.TrimSuffix(string(data), "\n"), err
	}
	functions["include"] = func(name string, data any) (string, error) {
		var out strings.Builder
		err := all.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	all.Funcs(functions)
	files, err := filepath.Glob(filepath.Join(dir, "templates", "*"))
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	if _, err := all.ParseFiles(files...); err != nil {
		t.Fatal(err)
	}
	data := map[string]any{
		"Values": values, "Release": map[string]any{"Name": "charts", "Service": "Helm"},
		"Chart": map[string]any{"AppVersion": about["appVersion"], "Name": about["name"]},
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".tpl") {
			continue
		}
		var out bytes.Buffer
		if err := all.ExecuteTemplate(&out, filepath.Base(file), data); err != nil {
			return nil, err
		}
		for decoder := yaml.NewDecoder(&out); ; {
			var object map[string]any
			if err := decoder.Decode(&object); err != nil {
				if err.Error() == "EOF" {
					break
				}
				t.Fatalf("%s: %v\n%s", file, err, out.String())
			}
			if object != nil {
				objects = append(objects, object)
			}
		}
	}
	return objects, nil
}

// merge puts values over others. A name that the chart does not have is a mistake.
func merge(t *testing.T, into, over map[string]any, at string) {
	t.Helper()
	for name, value := range over {
		was, known := into[name]
		if !known {
			t.Fatalf("the chart has no value %s%s", at, name)
		}
		if inner, ok := value.(map[string]any); ok {
			merge(t, was.(map[string]any), inner, at+name+".") //nolint:forcetypeassert,errcheck // a mistake of the test
			continue
		}
		into[name] = value
	}
}

// at returns what is at a path of an object.
func at[T any](t *testing.T, object any, path ...any) (found T) {
	t.Helper()
	for _, step := range path {
		switch of := object.(type) {
		case map[string]any:
			object = of[step.(string)] //nolint:forcetypeassert,errcheck // a mistake of the test
		case []any:
			object = of[step.(int)] //nolint:forcetypeassert,errcheck // the same
		}
	}
	found, ok := object.(T)
	if !ok {
		t.Fatalf("%v is %T", path, object)
	}
	return found
}

const (
	oneNode = "baseURL: https://charts.example.com\npassphraseSecret: owner\n"
	people  = "baseURL: https://charts.example.com\nowners: {issuer: 'https://id.example.com', clientSecret: oidc, allow: ['group:traders', 'group:desk'], licensedVenues: [yahoo], plans: '[pro]'}\n"
	group   = "replicas: 3\nnats: {url: 'tls://n1:4222,tls://n2:4222', secret: nats}\n"
)

// The chart renders for one node and for replicas, for one owner and for many, to objects of the known kinds; every volume that is mounted is there, and
// every flag is one of the program.
func TestChart_Renders(t *testing.T) {
	t.Parallel()
	settings, err := os.ReadFile(filepath.Join(root, "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		values string
		kinds  string
		args   []string
	}{
		"one node":               {oneNode, "ConfigMap Service Service StatefulSet", []string{"--owner-password-file=/private/secrets/owner-password", "--trade", "--max-connections=1024"}},
		"one node for many":      {people, "ConfigMap Service Service StatefulSet", []string{"--owners=oidc", "--oidc-allow=group:traders,group:desk", "--licensed-venues=yahoo"}},
		"replicas":               {oneNode + group, "ConfigMap PodDisruptionBudget Service Service StatefulSet", []string{"--nats-url=tls://n1:4222,tls://n2:4222", "--cluster-secret-file=/private/secrets/cluster-secret"}},
		"replicas for many":      {people + group + "ingress: {enabled: true, host: charts.example.com, tlsSecret: tls, className: nginx}\nextraArgs: [--log-level=warn]\ntoolsets: [market, account]\ntrustedProxies: 10.0.0.0/8\n", "ConfigMap Ingress PodDisruptionBudget Service Service StatefulSet", []string{"--log-level=warn", "--toolsets=market,account", "--trusted-proxies=10.0.0.0/8"}},
		"charts without trading": {oneNode + "trade: false\nstorage: {className: fast}\n", "ConfigMap Service Service StatefulSet", nil},
	} {
		objects, err := chart(t, c.values)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		kinds := make([]string, 0, len(objects))
		var pod map[string]any
		for _, o := range objects {
			kinds = append(kinds, at[string](t, o, "kind"))
			if o["kind"] == "StatefulSet" {
				pod = at[map[string]any](t, o, "spec", "template", "spec")
			}
		}
		slices.Sort(kinds)
		if got := strings.Join(kinds, " "); got != c.kinds {
			t.Errorf("%s: %s", name, got)
		}
		args := at[[]any](t, pod, "containers", 0, "args")
		for _, want := range c.args {
			if !slices.Contains(args, any(want)) {
				t.Errorf("%s lacks %s: %v", name, want, args)
			}
		}
		for _, arg := range args {
			flag, _, _ := strings.Cut(arg.(string), "=") //nolint:forcetypeassert,errcheck // YAML made it a text, or the test fails
			if !bytes.Contains(settings, []byte("`"+flag+"`")) {
				t.Errorf("%s: candela has no flag %s", name, flag)
			}
		}
		volumes := map[string]bool{"state": true}
		for _, v := range at[[]any](t, pod, "volumes") {
			volumes[at[string](t, v, "name")] = true
		}
		for _, kind := range []string{"containers", "initContainers"} {
			for _, m := range at[[]any](t, pod, kind, 0, "volumeMounts") {
				if !volumes[at[string](t, m, "name")] {
					t.Errorf("%s: %v is mounted and is no volume of %v", name, m, slices.Sorted(maps.Keys(volumes)))
				}
			}
		}
	}
}

// Values that candela would refuse at its start fail before anything is installed.
func TestChart_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	for values, want := range map[string]string{
		"passphraseSecret: owner":                "baseURL is required",
		oneNode + "replicas: 3":                  "need nats.url",
		oneNode + "nats: {url: 'tls://n1:4222'}": "needs nats.secret",
		people + "passphraseSecret: owner":       "exclude each other",
		"baseURL: https://charts.example.com":    "passphraseSecret or owners.issuer is required",
		oneNode[:strings.Index(oneNode, "\n")+1] + "owners: {issuer: 'https://id.example.com', clientSecret: oidc}": "needs owners.allow",
		oneNode[:strings.Index(oneNode, "\n")+1] + "owners: {issuer: 'https://id.example.com', allow: [anyone]}":    "needs owners.clientSecret",
	} {
		if _, err := chart(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", values, err)
		}
	}
}
