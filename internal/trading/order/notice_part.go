package order

import "time"

// partFillPause is the least time between two notices about the parts of one order.
const partFillPause = 10 * time.Second

// parts says which parts of an order are reported: one at once if the last report is long enough ago, and those
// that come sooner together when it is. It follows from the times of the fills alone.
type parts struct {
	last    time.Time // of the last report
	waiting bool      // for the next, partFillPause after the last
}

// add adds a part and reports whether it is reported at once.
func (p *parts) add(f Fill) bool {
	if p.waiting && f.At.Sub(p.last) >= partFillPause {
		p.last, p.waiting = p.last.Add(partFillPause), false // the others were reported then
	}
	if p.last.IsZero() || f.At.Sub(p.last) >= partFillPause {
		p.last = f.At
		return true
	}
	p.waiting = true
	return false
}

func partsOf(fills []Fill) (p parts) {
	for _, f := range fills {
		p.add(f)
	}
	return p
}

// reportPart reports whether a part of an order is reported at once.
func reportPart(known []Fill, f Fill) bool {
	p := partsOf(known)
	return p.add(f)
}

// PartNotices returns the notices of parts that were not reported at once and are due now, and how much of
// each open order they have reported then. reported is what it returned last, which is stored with the notices.
func (b *Book) PartNotices(now time.Time, reported map[string]string) (notices []Notice, next map[string]string) {
	for _, o := range b.Open() {
		if len(o.Fills) < 2 {
			continue
		}
		filled := o.Filled.String()
		p := partsOf(o.Fills)
		if due := p.last.Add(partFillPause); p.waiting && !due.After(now) && reported[o.ID] != filled {
			notices = append(notices, b.partNotice(o, due))
		} else {
			filled = reported[o.ID]
		}
		if filled != "" {
			if next == nil {
				next = make(map[string]string)
			}
			next[o.ID] = filled
		}
	}
	return notices, next
}

// partNotice returns the notice of all parts of an order so far.
func (b *Book) partNotice(o Order, at time.Time) Notice {
	p := preview{Book: b}
	r := NoticeRecord{Event: NoticePartFilled, After: b.Position(o.Symbol).Quantity.String()}
	earned, reduced := p.earlier(o)
	if reduced {
		r.Realised = earned.String()
	}
	r.Role = roleOf(o, reduced)
	return p.notice(o, r, at, o.ID, "together", o.Filled.String())
}
