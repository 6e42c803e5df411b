package csv

import (
	"candela/internal/data/provider"
	"candela/internal/kit/setting"
)

// Setting names the folder of files.
const Setting = "csv-dir"

// Descriptor declares the source.
func Descriptor() provider.Descriptor {
	return provider.Descriptor{
		Part: setting.Part{
			Name: name, Title: "CSV files",
			Settings: []setting.Spec{{
				Name: Setting, Arg: "FOLDER", Kind: setting.Path(),
				Doc: "folder of SYMBOL_INTERVAL.csv files to read bars from",
			}},
		},
		Kind:    provider.Files,
		Enabled: func(v setting.Values) bool { return v.Text(Setting) != "" },
		Open:    Open,
	}
}

// Open opens the folder that the settings name.
func Open(env provider.Env) (provider.Provider, error) {
	return New(Config{Dir: env.Values.Text(Setting), Now: env.Now})
}
