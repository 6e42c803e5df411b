package check

import "testing"

func TestParseDate(t *testing.T) {
	t.Parallel()
	const day = 1_577_836_800_000 // 2020-01-01
	const hour = 3_600_000
	for text, want := range map[string]int64{
		"2020-01-01": day, "2020-1-1": day, "1 Jan 2020": day, "01 January 2020": day, "Jan 01 2020": day, "2020": day, "2020 01 01": day, "2020/01/01": day,
		"01 Jan 2020 13:30 +0000": day + 13*hour + hour/2, "1 January 2020 20:00": day + 20*hour, "01 Jan 2020 00:00 UTC": day,
		"UTC 01 Jan 2020 00:00": day, "01Jan 2020 14:00 +0000": day + 14*hour, "2020-01-01T05:30:00+05:30": day, "2020-01-01T00:00:00Z": day,
		"2020-01-01T15:30": day + 15*hour + hour/2, "Wed, 01 Jan 2020 01:00:00 +0100": day, "1\u00a0Jan\u00a02020": day, "Jan 01 2020 22:10:05": day + 22*hour + 605_000,
		"1 Sept 2020": day + 244*24*hour, "01 Jan 2020 02:00 GMT+2": day,
	} {
		if got, ok := ParseDate(text); !ok || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "soon", "32 Jan 2020", "2020-13-01", "1 Janv 2020", "01 Jan 2020 25:00", "01 Jan 2020 00:00 -3000"} {
		if got, ok := ParseDate(text); ok {
			t.Errorf("%q is taken as %d", text, got)
		}
	}
}
