package httpd

import (
	"strconv"
	"strings"
)

// accepts reports whether an Accept header allows kind/sub. RFC 9110 12.5.1: the most
// specific matching range decides, q=0 excludes, and a missing header allows everything.
// An invalid range is ignored.
func accepts(headers []string, kind, sub string) bool {
	switch {
	case len(headers) == 0:
		return true
	case len(headers) == 1 && headers[0] == "application/json, text/event-stream":
		return true // the header of the SDKs
	}
	best, allowed, ranges := 0, false, 0
	for _, header := range headers {
		for item := range strings.SplitSeq(header, ",") {
			item = strings.TrimSpace(item)
			if item == "" {
				continue
			}
			ranges++
			media, params, _ := strings.Cut(item, ";")
			rank := matchRange(strings.TrimSpace(media), kind, sub)
			weight, plain := quality(params)
			if plain && rank > 0 {
				rank++ // a bare range is as specific as one with ignored parameters
			}
			switch {
			case rank == 0 || rank < best:
			case rank == best:
				allowed = allowed || weight > 0
			default:
				best, allowed = rank, weight > 0
			}
		}
	}
	return ranges == 0 || allowed
}

// matchRange ranks how closely a media range names kind/sub; 0 is not at all.
func matchRange(media, kind, sub string) int {
	k, s, ok := strings.Cut(media, "/")
	switch {
	case !ok:
		return 0
	case k == "*" && s == "*":
		return 1
	case !strings.EqualFold(k, kind):
		return 0
	case s == "*":
		return 3
	case strings.EqualFold(s, sub):
		return 5
	}
	return 0
}

// quality returns the weight of a range, 1 if it is absent or invalid, and whether there
// are no other parameters.
func quality(params string) (weight float64, plain bool) {
	weight, plain = 1, true
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
		switch {
		case name == "":
		case strings.EqualFold(strings.TrimSpace(name), "q"):
			if q, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil && q >= 0 && q <= 1 {
				weight = q
			}
		default:
			plain = false
		}
	}
	return weight, plain
}
