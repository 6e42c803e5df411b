package upgrade

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake/binance"
)

var (
	record  = flag.String("record", "", "record the state of an earlier program under this name")
	earlier = flag.String("program", "", "that program")
)

var today string // the program, built once

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "upgrade")
	if err == nil {
		today = filepath.Join(dir, "candela")
		build := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-o", today, "candela/cmd/candela")
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
		var out []byte
		if out, err = build.CombinedOutput(); err != nil {
			err = fmt.Errorf("%s%w", out, err)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(status)
}

// kept is what a later program must find again.
type kept struct {
	Alerts, Orders, Positions []map[string]any
	Script                    string
}

const script = `//@version=6\nindicator(\"Kept\")\nplot(ta.sma(close, 5))\n`

func fakeVenue(t *testing.T) string {
	t.Helper()
	// The price is the same on the day of the recording, today and on all days between.
	since := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	var long atomic.Bool
	fake := binance.New(binance.Config{Now: func() time.Time {
		if long.Load() {
			return time.Now()
		}
		return since
	}})
	fake.Fix("BTCUSDT", decimal.NewFromInt(100), decimal.NewFromInt(1000))
	long.Store(true)
	venue := httptest.NewServer(fake)
	t.Cleanup(venue.Close)
	return venue.URL
}

// TestRecord makes a directory with an earlier program; e2e/upgrade/make calls it.
func TestRecord(t *testing.T) {
	t.Parallel()
	if *record == "" {
		return // nothing is to be recorded
	}
	home := filepath.Join(t.TempDir(), "state")
	venue := fakeVenue(t)
	s := start(t, *earlier, home, venue)
	s.call("set_alert", `{"symbol":"BTCUSDT","condition":{"price_below":1},"note":"kept"}`)
	s.call("set_alert", `{"symbol":"BTCUSDT","interval":"1h","condition":{"indicator_signal":{"indicator":"macd","signal":"cross_up"}}}`)
	if _, failed := s.try("place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1,"stop_loss":95}`); failed { // nor has it stops
		s.call("place_order", `{"symbol":"BTCUSDT","side":"buy","type":"market","quantity":1}`)
	}
	s.call("place_order", `{"symbol":"BTCUSDT","side":"buy","type":"limit","quantity":1,"price":96}`)
	if s.scripts {
		s.call("save_script", `{"name":"kept","source":"`+script+`"}`)
	}
	found := look(s)
	s.end()
	data, err := json.MarshalIndent(found, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", *record)
	if err := os.WriteFile(file+".json", append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file+".tar.gz", pack(t, home), 0o644); err != nil {
		t.Fatal(err)
	}
}

// look asks for what must be kept, without what depends on the price of the moment.
func look(s *session) kept {
	s.t.Helper()
	var found kept
	for tool, to := range map[string]*[]map[string]any{"list_alerts": &found.Alerts, "get_orders": &found.Orders, "get_positions": &found.Positions} {
		if err := json.Unmarshal([]byte(s.call(tool, "{}")), to); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, p := range found.Positions {
		for key := range p {
			if strings.HasPrefix(key, "current") || strings.HasPrefix(key, "unrealized") || key == "price_at" {
				delete(p, key)
			}
		}
	}
	for _, a := range found.Alerts {
		delete(a, "describe") // for people, in the words of today
	}
	if text, failed := s.try("generate_chart", `{"symbol":"BTCUSDT","interval":"1h","format":"summary","bars":50,"indicators":["kept"]}`); !failed && strings.Contains(text, `"kept`) {
		found.Script = "kept"
	}
	return found
}

// TestUpgrade_KeepsWhatAnEarlierProgramStored opens each recorded directory.
func TestUpgrade_KeepsWhatAnEarlierProgramStored(t *testing.T) {
	t.Parallel()
	recorded, err := filepath.Glob("testdata/*.tar.gz")
	if err != nil || len(recorded) < 3 {
		t.Fatalf("%q, %v", recorded, err)
	}
	for _, file := range recorded {
		name := strings.TrimSuffix(filepath.Base(file), ".tar.gz")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := filepath.Join(t.TempDir(), "state")
			unpack(t, file, home)
			schema := schemaOf(t, home)
			var want kept
			data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			venue := fakeVenue(t)
			for _, when := range []string{"first", "second"} {
				s := start(t, today, home, venue)
				compare(t, when+" start", look(s), want)
				s.end()
			}
			holdStore(t, home, schema)
		})
	}
}

// compare says which record or field of it is not as it was. New fields may come.
func compare(t *testing.T, when string, have, want kept) {
	t.Helper()
	if have.Script != want.Script {
		t.Errorf("%s: the script is %q, it was %q", when, have.Script, want.Script)
	}
	for name, lists := range map[string][2][]map[string]any{
		"alerts": {have.Alerts, want.Alerts}, "orders": {have.Orders, want.Orders}, "positions": {have.Positions, want.Positions},
	} {
		if len(lists[0]) != len(lists[1]) || len(lists[1]) == 0 {
			t.Errorf("%s: %d %s, there were %d", when, len(lists[0]), name, len(lists[1]))
			continue
		}
		byID := map[any]map[string]any{}
		for _, record := range lists[0] {
			byID[record["id"]] = record
		}
		for _, record := range lists[1] {
			for key, value := range record {
				if now := byID[record["id"]][key]; fmt.Sprint(now) != fmt.Sprint(value) {
					t.Errorf("%s: %s %v: %s is %v, it was %v", when, name, record["id"], key, now, value)
				}
			}
		}
	}
}

// schemaOf returns the number of a store's schema: the field user_version of the header,
// https://sqlite.org/fileformat.html#user_version_number
func schemaOf(t *testing.T, home string) uint32 {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(home, "candela.db"))
	if err != nil || len(data) < 64 {
		t.Fatalf("%d bytes of the store: %v", len(data), err)
	}
	return binary.BigEndian.Uint32(data[60:])
}

// holdStore checks that a store of an earlier schema was copied and that the audit log is whole.
func holdStore(t *testing.T, home string, schema uint32) {
	t.Helper()
	changed := schemaOf(t, home) != schema
	copies, err := filepath.Glob(filepath.Join(home, "candela.db.schema-*"))
	if err != nil || changed != (len(copies) == 1) {
		t.Errorf("copies of the store of schema %d: %q, %v", schema, copies, err)
	}
	verify := exec.CommandContext(t.Context(), today, "audit", "verify", "--home", home)
	if out, err := verify.CombinedOutput(); err != nil {
		t.Errorf("%s%v", out, err)
	}
	if *earlier != "" && changed {
		refuses(t, *earlier, home)
	}
}

// refuses holds that a program opens no store of a newer one and says what to do. It ends, or its
// tools say so.
func refuses(t *testing.T, file, home string) {
	t.Helper()
	program := exec.CommandContext(t.Context(), file, "--mcp", "--trade", "--home", home)
	var log bytes.Buffer
	program.Stderr = &log
	in, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"upgrade","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_alerts","arguments":{}}}
`) // it may have ended
	var answers strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan() && !strings.Contains(lines.Text(), `"id":2`); {
		answers.WriteString(lines.Text())
	}
	_ = in.Close()
	err = program.Wait()
	if err == nil || !strings.Contains(log.String(), "written by a newer candela") || !strings.Contains(log.String(), "install that version again") {
		t.Errorf("%s says %s%s%v", file, answers.String(), log.String(), err)
	}
}

// TestUpgrade_RefusesAStoreOfTomorrow writes the number of a later schema into a store.
func TestUpgrade_RefusesAStoreOfTomorrow(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "state")
	unpack(t, "testdata/66e9febc.tar.gz", home)
	file, err := os.OpenFile(filepath.Join(home, "candela.db"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt([]byte{0, 0, 0, 99}, 60); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	refuses(t, today, home)
}

func pack(t *testing.T, home string) []byte {
	t.Helper()
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	err = fs.WalkDir(os.DirFS(home), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(home, path))
		if err != nil {
			return err
		}
		err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: 0o600, Size: int64(len(data))})
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	})
	if err := errors.Join(err, w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func unpack(t *testing.T, file, home string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(home, filepath.Clean("/"+h.Name))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err == nil {
			err = os.WriteFile(to, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
