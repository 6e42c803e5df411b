package sink

import (
	"time"

	"candela/internal/kit/setting"
)

// Descriptor declares one kind of sink. Configuration, delivery, the doctor and the tests
// of receivers read it, so a new sink is a package with a Descriptor and a line of the
// table in package app.
type Descriptor struct {
	setting.Part // its EnabledBy must be set
	Open         func(Env) (Receiver, error)
}

// Env is what a receiver is opened with.
type Env struct {
	Values       setting.Values
	AllowPrivate bool // the receiver may be in a private network
	Now          func() time.Time
	Home         string   // the state directory
	Environ      []string // the environment of the program
	Mode         string   // of the account: paper or live
}

// Open returns the receivers that are configured. On an error nothing is open.
func Open(all []Descriptor, env Env) ([]Target, error) {
	var open []Target
	for _, d := range all {
		if !env.Values.Has(d.EnabledBy) {
			continue
		}
		to, err := d.Open(env)
		if err != nil {
			for _, t := range open {
				t.Close()
			}
			return nil, err
		}
		open = append(open, Target{d.Name, to})
	}
	return open, nil
}
