package strictjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"candela/internal/kit/strictjson"
)

func TestReader_DistinguishesCase(t *testing.T) {
	t.Parallel()
	var open, closing int64
	j := strictjson.NewReader([]byte(`{"T":2,"other":{"t":[9]},"t":1}`))
	j.Object(func(key []byte) {
		switch string(key) {
		case "t":
			open = j.Int()
		case "T":
			closing = j.Int()
		}
	})
	if err := j.End(); err != nil || open != 1 || closing != 2 {
		t.Errorf("open %d, close %d, %v", open, closing, err)
	}
}

func TestReader_Values(t *testing.T) {
	t.Parallel()
	j := strictjson.NewReader([]byte(` [ "a\u0062" , 1.5 , "0.10" , -7 , true , null , 1e3 , {"k":[1]} , "x", false ] `))
	j.Array(func(i int) {
		ok := true
		switch i {
		case 0:
			ok = j.Text() == "ab"
		case 1:
			ok = j.Number() == 1.5
		case 2:
			ok = j.Exact() == "0.10"
		case 3:
			ok = j.Int() == -7
		case 4:
			ok = j.Bool()
		case 5:
			ok = j.Null()
		case 6:
			ok = j.Exact() == "1e3"
		case 7:
			ok = string(j.Raw()) == `{"k":[1]}`
		case 8:
			ok = j.Is("x")
		case 9:
			ok = !j.Null() && !j.Bool()
		}
		if !ok {
			t.Errorf("value %d is wrong", i)
		}
	})
	if err := j.End(); err != nil || !j.OK() {
		t.Error(err)
	}
}

func TestReader_WrongTypesAreErrors(t *testing.T) {
	t.Parallel()
	type read = func(*strictjson.Reader)
	number := func(j *strictjson.Reader) { j.Number() }
	quoted := func(j *strictjson.Reader) { j.Quoted() }
	whole := func(j *strictjson.Reader) { j.Int() }
	text := func(j *strictjson.Reader) { j.Text() }
	object := func(j *strictjson.Reader) { j.Object(func([]byte) {}) }
	array := func(j *strictjson.Reader) { j.Array(func(int) {}) }
	for name, tc := range map[string]struct {
		data string
		read read
		want string
	}{
		"a string for a number":      {`"1"`, number, `byte 0: want a number, found "\"1\""`},
		"a number for a string":      {`1`, text, "want a string"},
		"a bare number for a quoted": {`1`, quoted, "want a number in quotes"},
		"words for a quoted number":  {`"NaN"`, quoted, `want a number in quotes, found "NaN"`},
		"infinity":                   {`"1e999"`, quoted, "not a number we can hold"},
		"hexadecimal":                {`"0x10"`, quoted, "want a number in quotes"},
		"spaces in a quoted number":  {`" 1"`, quoted, "want a number in quotes"},
		"an empty quoted number":     {`""`, quoted, "want a number in quotes"},
		"a fraction for an integer":  {`1.5`, whole, "want a whole number"},
		"an integer beyond 64 bits":  {`99999999999999999999`, whole, "want a whole number"},
		"null for a number":          {`null`, number, "want a number"},
		"null for an object":         {`null`, object, "want an object"},
		"an object for an array":     {`{}`, array, "want an array"},
		"a boolean in capitals":      {`True`, func(j *strictjson.Reader) { j.Bool() }, "want true or false"},
		"truncated":                  {`[1,`, array, "want a value, found the end"},
		"truncated in a string":      {`["ab`, array, "want the end of a string"},
		"two documents":              {`[1][2]`, array, "byte 3: want the end"},
		"a comma too many":           {`[1,]`, array, "want a value"},
		"a missing comma":            {`[1 2]`, array, "']' or a comma"},
		"a key without quotes":       {`{a:1}`, object, "want a key"},
		"a key without a colon":      {`{"a" 1}`, object, "want a colon"},
		"a leading zero":             {`01`, number, "want the end"},
		"a lone minus":               {`-`, number, "want a number"},
		"a control character":        {"[\"a\nb\"]", array, "control character"},
		"a wrong escape":             {`["\x"]`, array, "wrong escape"},
		"nested too deep":            {strings.Repeat("[", 100), array, "nested more than"},
		"nothing":                    {``, object, "want an object, found the end"},
		"a word that is none":        {`[nul]`, array, "want a value"},
	} {
		j := strictjson.NewReader([]byte(tc.data))
		tc.read(j)
		if err := j.End(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReader_TheFirstErrorStays(t *testing.T) {
	t.Parallel()
	j := strictjson.NewReader([]byte(`[1,2]`))
	j.Failf("the %s is wrong", "first")
	calls := 0
	j.Array(func(int) { calls++ })
	if n := j.Number(); n != 0 || calls != 0 || j.OK() || j.Null() || j.Raw() != nil {
		t.Error("reads on after an error")
	}
	if j.Failf("again"); j.End().Error() != "byte 0: the first is wrong" {
		t.Error(j.End())
	}
}

// FuzzReader holds the reader against the standard library: it takes what that
// takes, except for nesting.
func FuzzReader(f *testing.F) {
	for _, s := range []string{
		`[[1499040000000,"0.01634790",1499644799999,308,"0"]]`, `{"e":"kline","k":{"t":1,"T":2,"x":false}}`,
		`{"a":null,"b":[true,-0.5e-7,"\u00e9\\"]}`, `[`, `"\ud800"`, `-`, `{"a":1,}`, `01`, `"a` + "\x00" + `"`, ` {} `, `tru`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		j := strictjson.NewReader(data)
		j.Skip()
		err := j.End()
		if err != nil && strings.Contains(err.Error(), "nested more than") {
			return
		}
		if valid := json.Valid(data); valid != (err == nil) {
			t.Fatalf("%q: valid %v, we say %v", data, valid, err)
		}
	})
}

func BenchmarkReader_Klines(b *testing.B) {
	row := `[1499040000000,"0.01634790","0.80000000","0.01575800","0.01577100","148976.11427815",1499644799999,"2434.19055334",308,"1756.87402397","28.46694368","0"]`
	data := []byte("[" + strings.Repeat(row+",", 999) + row + "]")
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		j := strictjson.NewReader(data)
		sum := 0.0
		j.Array(func(int) {
			j.Array(func(i int) {
				if i > 0 && i < 6 {
					sum += j.Quoted()
				}
			})
		})
		if j.End() != nil || sum == 0 {
			b.Fatal(j.End())
		}
	}
}
