// Package setting declares settings as data. A venue, a broker or a sink lists its own, and
// package config turns them into flags, variables, keys of the file and documentation.
package setting

import (
	"maps"
	"strconv"
	"time"

	"candela/internal/kit/secret"
)

// Part is a part of the program that is selected by name and has settings of its own.
type Part struct {
	Name     string // as flags and symbols write it, such as "kraken"
	Title    string // as texts write it, such as "Kraken"
	Settings []Spec
	Keys     Keys
	Secrets  []FileSecret
	Networks []Network // of a broker; its flag NAME-network is added where several are not live
	// EnabledBy names the setting that turns a sink on.
	EnabledBy string
	// Licence says why others than the person who runs the program may not see the data of a venue, such as "it is for
	// personal use"; "" if they may.
	Licence string
	// Check reports settings that exclude or need each other. It may be nil.
	Check func(Values) error
}

// HasKeys reports whether the part uses keys and values holds them.
func (p Part) HasKeys(values Values) bool {
	return p.Keys != Keys{} && !values.Secret(p.Keys.ID).IsZero()
}

// Network returns the network that orders go to: the one that the setting of the part
// names, else the first with the given mode, "" when there is none.
func (p Part) Network(values Values, live bool) string {
	if p.ChoosesNetwork() {
		return values.Text(p.NetworkSetting())
	}
	if names := p.NetworkNames(live); len(names) > 0 {
		return names[0]
	}
	return ""
}

// NetworkNames lists the networks with real money, or those without.
func (p Part) NetworkNames(live bool) []string {
	var names []string
	for _, n := range p.Networks {
		if n.Live == live {
			names = append(names, n.Name)
		}
	}
	return names
}

// ChoosesNetwork reports whether a setting selects the network: --live alone decides
// where one network is live and one is not.
func (p Part) ChoosesNetwork() bool { return len(p.NetworkNames(false)) > 1 }

// NetworkSetting is the name of the setting that selects the network.
func (p Part) NetworkSetting() string { return p.Name + "-network" }

// CanTradeLive reports whether real money can be traded with.
func (p Part) CanTradeLive() bool { return len(p.NetworkNames(true)) > 0 }

// Network is one of a broker's exchanges or account types.
type Network struct {
	Name string
	Live bool // with real money
}

// Keys names the settings that hold the keys of an account: a file, or two variables.
// The zero value means that no keys are needed.
type Keys struct {
	File, ID, Secret string
	// LongSecret lets the secret span several lines of the file, as a private key does.
	LongSecret bool
}

// FileSecret is a secret that is given in a variable or in a file, never in both.
type FileSecret struct {
	Name, File string // the settings
	MinLength  int    // in bytes
	// Purpose completes the message "needs ..." if the secret is missing.
	Purpose string
	// Needed reports whether the part needs it. It may be nil: the secret is optional then.
	Needed func(Values) bool
}

// Given reports whether a variable or a file gives the secret.
func (f FileSecret) Given(v Values) bool { return !v.Secret(f.Name).IsZero() || v.Text(f.File) != "" }

// Spec is one setting.
type Spec struct {
	Name    string // the flag without its dashes
	Arg     string // placeholder of the value in --help, "" for a boolean
	Default string
	Doc     string // one line
	Kind    Kind
	// NeedsTrade makes the flag an error without --trade.
	NeedsTrade bool
}

// Address declares the setting of an HTTP API's address.
func Address(name, doc string) Spec { return Spec{Name: name, Arg: "URL", Kind: URL(), Doc: doc} }

// StreamAddress declares the setting of a WebSocket API's address.
func StreamAddress(name, doc string) Spec {
	return Spec{Name: name, Arg: "URL", Kind: streamURL(), Doc: doc}
}

// Values holds the values of settings by name.
type Values struct {
	texts   map[string]*string
	secrets map[string]*secret.Text
	urls    map[string]*secret.URL
}

// Text returns a value in the form that its kind reads, "" for none.
func (v Values) Text(name string) string {
	if p := v.texts[name]; p != nil {
		return *p
	}
	return ""
}

// Bool returns a boolean.
func (v Values) Bool(name string) bool { return v.Text(name) == "true" }

// Int returns a whole number, 0 for none.
func (v Values) Int(name string) int {
	n, _ := strconv.Atoi(v.Text(name)) // the kind has read it
	return n
}

// Time returns an instant, the zero time for none.
func (v Values) Time(name string) time.Time {
	at, _ := time.Parse(time.RFC3339, v.Text(name)) // the kind has read it
	return at
}

// Secret returns a secret.
func (v Values) Secret(name string) secret.Text {
	if p := v.secrets[name]; p != nil {
		return *p
	}
	return secret.Text{}
}

// URL returns an endpoint, the zero value for none.
func (v Values) URL(name string) secret.URL {
	if p := v.urls[name]; p != nil {
		return *p
	}
	return secret.URL{}
}

// Has reports whether a setting has a value of any kind.
func (v Values) Has(name string) bool {
	return v.Text(name) != "" || !v.Secret(name).IsZero() || !v.URL(name).IsZero()
}

// With returns values in which one is another text.
func (v Values) With(name, text string) Values {
	v.texts = maps.Clone(v.texts)
	if v.texts == nil {
		v.texts = make(map[string]*string)
	}
	v.texts[name] = &text
	return v
}

// TextVar returns where a value is stored.
func (v *Values) TextVar(name string) *string { return slot(&v.texts, name) }

// SecretVar returns where a secret is stored.
func (v *Values) SecretVar(name string) *secret.Text { return slot(&v.secrets, name) }

// URLVar returns where an endpoint is stored.
func (v *Values) URLVar(name string) *secret.URL { return slot(&v.urls, name) }

func slot[T any](all *map[string]*T, name string) *T {
	if *all == nil {
		*all = make(map[string]*T)
	}
	if (*all)[name] == nil {
		(*all)[name] = new(T)
	}
	return (*all)[name]
}
