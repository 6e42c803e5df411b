// Package webchart holds what draws a chart in a browser: our module, the typeface, and the
// library it uses, if the program was built with it.
//
// The library is not in the repository. web/bring gets the version named here from the
// package registry and puts it into lib; a build without that step has none, and its pages
// show the server's own picture.
package webchart

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"

	"candela/lib/chart/webfont"
)

// The library: its version, its file in the package of the registry, and the hash of that
// file.
const (
	Version = "5.2.1"
	Source  = "lightweight-charts/dist/lightweight-charts.standalone.production.js"
	SHA256  = "e21cc5caa0226ef30bd8549c50b9ef926615f2a4ee6b4e486353477a55f598cf"
)

// Packed is the name of the compressed library in the folder lib.
const Packed = "lightweight-charts.js.gz"

//go:embed lib
var library embed.FS

// The sources of our modules.
var (
	//go:embed figures.mjs
	figures []byte
	//go:embed paint.mjs
	paint []byte
	//go:embed script.mjs
	script []byte
	//go:embed plot.mjs
	plot []byte
	//go:embed account.mjs
	account []byte
	//go:embed legend.mjs
	legend []byte
	//go:embed overlay.mjs
	overlay []byte
	//go:embed chart.mjs
	chart []byte
)

// Module is one of our ES modules.
type Module struct {
	Name   string // that the others import it by, from the same folder
	Source []byte
}

// Modules returns our modules, each after those that it imports. The last one exports View.
func Modules() []Module {
	return []Module{{"figures.mjs", figures}, {"paint.mjs", paint}, {"script.mjs", script}, {"plot.mjs", plot}, {"account.mjs", account}, {"legend.mjs", legend}, {"overlay.mjs", overlay}, {"chart.mjs", chart}}
}

// Library returns the library, compressed with gzip, or nil if the program was built
// without it. As a classic script it sets the global LightweightCharts.
func Library() []byte {
	data, err := library.ReadFile("lib/" + Packed)
	if err != nil {
		return nil
	}
	return data
}

// Script returns the library as it is, or nothing if the program was built without it.
func Script() ([]byte, error) {
	packed := Library()
	if packed == nil {
		return nil, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("read the chart library: %w", err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("unpack the chart library: %w", err)
	}
	return data, nil
}

// Fonts returns the typeface of the pictures by the names of its files. Without one, pages use a font of the machine.
func Fonts() map[string][]byte {
	all := make(map[string][]byte)
	for name, weight := range map[string]webfont.Weight{"roboto.woff": webfont.Regular, "roboto-medium.woff": webfont.Medium} {
		if font, err := webfont.WOFF(weight); err == nil {
			all[name] = font
		}
	}
	return all
}
