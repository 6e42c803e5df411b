package replay

import (
	"errors"

	"candela/internal/data/provider"
	"candela/internal/kit/setting"
)

// Descriptor declares the source. It plays the files that the setting dir names and that
// open opens.
func Descriptor(dir string, open func(provider.Env) (provider.Provider, error)) provider.Descriptor {
	on := func(v setting.Values) bool { return v.Text("replay-from") != "" }
	return provider.Descriptor{
		Part: setting.Part{
			Name: name, Title: "replay",
			Settings: []setting.Spec{
				{
					Name: "replay-from", Arg: "TIME", Kind: setting.Moment(),
					Doc: "play the files of --" + dir + " from this time on, as the venue replay",
				},
				{
					Name: "replay-speed", Arg: "N", Default: "60", Kind: setting.Int(1, maxSpeed),
					Doc: "how many times faster than real time a replay runs, 1 to 200000",
				},
			},
			Check: func(v setting.Values) error {
				if !on(v) || v.Text(dir) != "" {
					return nil
				}
				return errors.New("--replay-from plays the files of --" + dir + ", which is not given")
			},
		},
		Kind:    provider.Files,
		Enabled: on,
		Open: func(env provider.Env) (provider.Provider, error) {
			closed := env
			closed.Now = nil // every bar in the files has closed
			files, err := open(closed)
			if err != nil {
				return nil, err
			}
			return New(Config{Source: files, Start: env.Values.Time("replay-from"), Speed: float64(env.Values.Int("replay-speed")), Now: env.Now})
		},
	}
}
