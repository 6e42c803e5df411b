package storetest

import (
	"encoding/json"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"candela/internal/kit/principal"
	"candela/lib/fault"
)

// RunKept runs the suite of KeptStore. open is as for RunAlerts.
func RunKept(t *testing.T, open func(t *testing.T, dir string) KeptStore) {
	t.Helper()
	t.Run("a record is kept by owner and name, also after a restart", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		s := open(t, dir)
		put := func(owner principal.Owner, name, value string) {
			t.Helper()
			must(t, s.Keep(t.Context(), owner, name, func([]byte) ([]byte, error) {
				if value == "" {
					return nil, nil
				}
				return []byte(value), nil
			}))
		}
		put("ann", "drawings", `{"a":1}`)
		put("ann", "drawings", `{"a":2}`)
		put("bob", "drawings", `{"b":1}`)
		put("ann", "views", `[]`)
		put("bob", "views", `[1]`)
		put("bob", "views", "")
		refused := fault.New(fault.Invalid, "no", "no")
		if err := s.Keep(t.Context(), "bob", "drawings", func([]byte) ([]byte, error) { return nil, refused }); fault.Of(err) != refused {
			t.Errorf("a refused change returned %v", err)
		}
		must(t, s.Close())
		s = open(t, dir)
		for _, want := range [][3]string{{"ann", "drawings", `{"a":2}`}, {"bob", "drawings", `{"b":1}`}, {"bob", "views", ""}, {"eve", "drawings", ""}} {
			got, err := s.Kept(t.Context(), principal.Owner(want[0]), want[1])
			must(t, err)
			if string(got) != want[2] || (got == nil) != (want[2] == "") {
				t.Errorf("%s of %s is %q", want[1], want[0], got)
			}
		}
		all, err := s.AllKept(t.Context())
		must(t, err)
		want := map[principal.Owner]map[string][]byte{"ann": {"drawings": []byte(`{"a":2}`), "views": []byte(`[]`)}, "bob": {"drawings": []byte(`{"b":1}`)}}
		if diff := cmp.Diff(want, all); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("none of many changes at once is lost", func(t *testing.T) {
		t.Parallel()
		s := open(t, t.TempDir())
		var changing sync.WaitGroup
		for i := range 8 {
			changing.Go(func() {
				err := s.Keep(t.Context(), "ann", "drawings", func(before []byte) ([]byte, error) {
					all := map[string]int{}
					if before != nil {
						if err := json.Unmarshal(before, &all); err != nil {
							return nil, err
						}
					}
					all[strconv.Itoa(i)] = i
					return json.Marshal(all)
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		changing.Wait()
		got, err := s.Kept(t.Context(), "ann", "drawings")
		must(t, err)
		if want := `{"0":0,"1":1,"2":2,"3":3,"4":4,"5":5,"6":6,"7":7}`; string(got) != want {
			t.Errorf("kept %s, want %s", got, want)
		}
	})
}
