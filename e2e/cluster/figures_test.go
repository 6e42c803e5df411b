package cluster

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candela/e2e/remote"
)

var (
	streams = flag.Int("streams", 10_000, "how many clients listen while pushes are measured")
	turns   = flag.Int("turns", 12, "how often everything that is measured takes its turn; charts, three times as often")
)

// group is some replicas whose processor time is measured together.
type group struct {
	name     string
	replicas []*replica
	clients  []*remote.Client
	cost     []time.Duration // of one request or delivery, by turn
}

func (g *group) cpu(tb testing.TB) (sum time.Duration) {
	tb.Helper()
	for _, r := range g.replicas {
		sum += r.cpu(tb)
	}
	return sum
}

// against returns the middle of the ratios to another group's costs, turn by turn:
// what the machine does besides is the same for both.
func (g *group) against(other *group) float64 {
	var ratios []float64
	for i := range g.cost {
		ratios = append(ratios, float64(g.cost[i])/float64(other.cost[i]))
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

// middle returns the middle of the costs.
func (g *group) middle() time.Duration {
	sorted := slices.Sorted(slices.Values(g.cost))
	return sorted[len(sorted)/2]
}

// BenchmarkCharts measures the processor time of a chart at one, two and three
// replicas, and at as many nodes that know nothing of each other, in short turns,
// because what the machine does besides changes from second to second. That several
// processes share processors and caches is in the costs of both; what replicas do for
// each other is not.
func BenchmarkCharts(b *testing.B) {
	for b.Loop() {
		alone, many := newSite(b, 3, false, options{}), newSite(b, 3, true, options{})
		var nodes, replicas []*group
		for n := range 3 {
			nodes = append(nodes, painters(alone, "node", n+1))
			replicas = append(replicas, painters(many, "replica", n+1))
		}
		groups := slices.Concat(nodes, replicas)
		for range 3 * *turns {
			for _, i := range rand.Perm(len(groups)) {
				g := groups[i]
				before := g.cpu(b)
				n := g.draw(b, time.Second)
				g.cost = append(g.cost, (g.cpu(b)-before)/time.Duration(n))
			}
		}
		for i := range 3 {
			b.ReportMetric(float64(replicas[i].middle().Microseconds()), "us/chart-"+replicas[i].name)
			b.ReportMetric(replicas[i].against(nodes[i]), replicas[i].name+"/"+nodes[i].name)
		}
		for i := 1; i < 3; i++ {
			b.ReportMetric(replicas[i].against(replicas[0]), replicas[i].name+"/"+replicas[0].name)
			b.ReportMetric(nodes[i].against(nodes[0]), nodes[i].name+"/"+nodes[0].name)
		}
	}
}

// painters returns the first n replicas of a site with clients that have asked for
// charts before: bars are read, caches filled.
func painters(s *site, what string, n int) *group {
	s.Helper()
	g := &group{name: fmt.Sprintf("%d-%s", n, what), replicas: s.replicas[:n]}
	for k := range 6 {
		c := s.visitor(k, g.replicas[k%n], s.owner)
		s.enter(s.Context(), c)
		g.clients = append(g.clients, c)
	}
	g.draw(s.TB, time.Second)
	return g
}

// draw asks for charts for a while, and returns how many came.
func (g *group) draw(tb testing.TB, d time.Duration) int64 {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), d)
	defer cancel()
	var n atomic.Int64
	var busy sync.WaitGroup
	for i, c := range g.clients {
		busy.Go(func() {
			for k := i; ctx.Err() == nil; k++ {
				_, err := c.Call(tb.Context(), "generate_chart", fmt.Sprintf(`{"symbol":"C%02dUSDT","interval":"1m"}`, k%10)) //nolint:contextcheck // the last one is waited for
				if err != nil {
					tb.Error(err)
					return
				}
				n.Add(1)
			}
		})
	}
	busy.Wait()
	return n.Load()
}

// BenchmarkPush measures the processor time of pushing an alert to a client: at one
// node without NATS with all clients, and at three replicas that share them.
func BenchmarkPush(b *testing.B) {
	for b.Loop() {
		ctx := b.Context()
		alone, many := newSite(b, 1, false, options{}), newSite(b, 3, true, options{})
		one, three := &audience{site: alone}, &audience{site: many}
		one.gather(ctx)
		three.gather(ctx)
		for turn := range *turns + 1 {
			one.push(ctx, turn > 0) // the first time makes room
			three.push(ctx, turn > 0)
		}
		b.ReportMetric(float64(one.middle().Nanoseconds())/1e3, "us/delivery-node")
		b.ReportMetric(float64(three.middle().Nanoseconds())/1e3, "us/delivery-3-replicas")
		b.ReportMetric(three.against(&one.group), "3-replicas/node")
		b.ReportMetric(float64(one.resident())/1e6, "MB-node")
		b.ReportMetric(float64(three.resident())/1e6, "MB-3-replicas")
		b.ReportMetric(at(one.waits, 0.5)*1e3, "ms-to-all-node")
		b.ReportMetric(at(three.waits, 0.5)*1e3, "ms-to-all-3-replicas")
	}
}

// audience is clients that listen at a site.
type audience struct {
	group
	*site
	setter    *remote.Client
	ears      []*listeners // one for each replica
	delivered int64
	waits     []time.Duration
}

// gather lets everyone in.
func (c *audience) gather(ctx context.Context) {
	c.Helper()
	c.group.replicas = c.site.replicas
	for _, r := range c.group.replicas {
		c.ears = append(c.ears, r.listeners(c.TB))
	}
	//nolint:contextcheck // they are let in for the whole of the test
	c.crowd(0, *streams, func(i int) *replica { return c.group.replicas[i%len(c.group.replicas)] }, func(one *remote.Client, i int) {
		if _, err := one.Call(ctx, "subscribe_notifications", `{}`); err != nil {
			c.Error(err)
		}
		one.HTTP.CloseIdleConnections()
		c.ears[i%len(c.ears)].add(c.TB, one.Token())
	})
	until(c.TB, time.Minute, "everyone listens", func() bool { open, _ := c.count(); return open == int64(*streams) })
	c.setter = c.visitor(*streams, c.group.replicas[0], c.owner)
	c.enter(ctx, c.setter)
}

// push lets some alerts fire, one after the other, each when everyone has received the
// one before. The clock of processor time has steps of 10 ms, so one alone is too few.
func (c *audience) push(ctx context.Context, counts bool) {
	c.Helper()
	const some = 5
	before := c.cpu(c.TB)
	for range some {
		began := time.Now()
		if _, err := c.setter.Call(ctx, "set_alert", `{"symbol":"C00USDT","condition":{"price_above":0.0001}}`); err != nil {
			c.Fatal(err)
		}
		c.delivered += int64(*streams)
		for deadline := began.Add(time.Minute); ; time.Sleep(time.Millisecond) {
			open, got := c.count()
			if got == c.delivered {
				break
			}
			if time.Now().After(deadline) {
				c.Fatalf("%d of %d notifications came over %d streams", got, c.delivered, open)
			}
		}
		c.waits = append(c.waits, time.Since(began))
	}
	if counts {
		c.cost = append(c.cost, (c.cpu(c.TB)-before)/time.Duration(some**streams))
	}
	slices.Sort(c.waits)
}

// count returns how many streams are open and how many notifications came.
func (c *audience) count() (open, got int64) {
	for _, l := range c.ears {
		open += l.open.Load()
		got += l.got.Load()
	}
	return open, got
}

func (c *audience) resident() (sum int64) {
	for _, r := range c.group.replicas {
		sum += r.resident(c.TB)
	}
	return sum
}
