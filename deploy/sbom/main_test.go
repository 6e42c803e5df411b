package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestWrite_ListsWhatIsLinked describes the test binary itself, twice.
func TestWrite_ListsWhatIsLinked(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var documents [2][]byte
	for i := range documents {
		out := filepath.Join(t.TempDir(), "sbom.cdx.json")
		if err := write(self, "1.2.3", out); err != nil {
			t.Fatal(err)
		}
		if documents[i], err = os.ReadFile(out); err != nil {
			t.Fatal(err)
		}
	}
	if string(documents[0]) != string(documents[1]) {
		t.Error("the same binary has two documents")
	}
	var doc bom
	if err := json.Unmarshal(documents[0], &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Format != "CycloneDX" || doc.Metadata.Component.Version != "1.2.3" {
		t.Errorf("%+v", doc.Metadata)
	}
	if !slices.ContainsFunc(doc.Components, func(c component) bool { return c.Name == "stdlib" && c.Version != "" }) {
		t.Errorf("no toolchain in %+v", doc.Components)
	}
	if len(doc.Dependencies) != len(doc.Components)+1 {
		t.Errorf("%d dependencies of %d components", len(doc.Dependencies), len(doc.Components))
	}
}
