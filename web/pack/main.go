// Command pack checks the chart library and puts it, compressed, where the program is
// built from. web/bring runs it.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"candela/internal/serve/webchart"
)

func main() {
	modules := flag.String("modules", "web/node_modules", "folder of the installed packages")
	out := flag.String("out", "internal/serve/webchart/lib", "folder to write to")
	flag.Parse()
	if err := run(*modules, *out); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(modules, out string) error {
	data, err := os.ReadFile(filepath.Join(modules, filepath.FromSlash(webchart.Source))) //nolint:gosec // G304: a folder of the build
	if err != nil {
		return fmt.Errorf("read the library: %w", err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != webchart.SHA256 {
		return fmt.Errorf("%s has the SHA-256 %x; expected %s", webchart.Source, sum, webchart.SHA256)
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression) // without a name or a time: the same bytes everywhere
	if err != nil {
		return fmt.Errorf("compress the library: %w", err)
	}
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("compress the library: %w", err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("compress the library: %w", err)
	}
	path := filepath.Join(out, webchart.Packed)
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, packed.Bytes()) { //nolint:gosec // G304: a folder of the build
		return nil // the time of the file stays, and with it what was compiled
	}
	if err := os.WriteFile(path, packed.Bytes(), 0o644); err != nil { //nolint:gosec // G306: it is published
		return fmt.Errorf("write the library: %w", err)
	}
	return nil
}
