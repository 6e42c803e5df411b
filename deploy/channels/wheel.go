package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"regexp"
	"strings"

	"candela/deploy/naming"
)

// writeWheel writes the wheel of one platform. Its program is a script to the installers,
// which put scripts where the programs of an environment are.
func (in input) writeWheel(b build) error {
	version := naming.Python(in.version)
	stem := regexp.MustCompile(`[-_.]+`).ReplaceAllString(in.python, "_") + "-" + version
	info := stem + ".dist-info/"
	files := []entry{
		{stem + ".data/scripts/" + b.program(), 0o755, b.files[b.program()]},
		{info + "METADATA", 0o644, []byte(in.metadata(version))},
		{info + "WHEEL", 0o644, []byte(wheelFile(b.tags))},
		{info + "licenses/LICENSE", 0o644, b.files["LICENSE"]},
		{info + "licenses/THIRD_PARTY_NOTICES.txt", 0o644, b.files["THIRD_PARTY_NOTICES.txt"]},
		{info + "sboms/candela.cdx.json", 0o644, b.sbom},
	}
	var record strings.Builder
	for _, f := range files {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	packed, err := zipped(append(files, entry{info + "RECORD", 0o644, []byte(record.String())}))
	if err != nil {
		return err
	}
	return in.put(packed, "python", stem+"-py3-none-"+strings.Join(b.tags, ".")+".whl")
}

func wheelFile(tags []string) string {
	var w strings.Builder
	w.WriteString("Wheel-Version: 1.0\nGenerator: candela\nRoot-Is-Purelib: false\n")
	for _, tag := range tags {
		w.WriteString("Tag: py3-none-" + tag + "\n")
	}
	return w.String()
}

func (in input) metadata(version string) string {
	return strings.Join([]string{
		"Metadata-Version: 2.4", "Name: " + in.python, "Version: " + version, "Summary: " + summary,
		"License-Expression: Apache-2.0", "License-File: LICENSE", "License-File: THIRD_PARTY_NOTICES.txt",
		"Project-URL: Homepage, " + naming.Home(in.repository), "Keywords: mcp,trading,charts,indicators,alerts",
		"Requires-Python: >=3.8", "Description-Content-Type: text/markdown", "", in.about(),
	}, "\n")
}

func zipped(files []entry) ([]byte, error) {
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: epoch()}
		h.SetMode(os.FileMode(f.mode)) //nolint:gosec // G115: permission bits of this package
		w, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return packed.Bytes(), err
}
