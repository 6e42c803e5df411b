package engine

import (
	"context"
	"slices"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/evaluate"
	"candela/internal/kit/budget"
	"candela/internal/kit/fair"
	"candela/internal/kit/principal"
	"candela/lib/market"
)

// Scripts are evaluated beside the loop. The loop owns the queue of each script and starts one
// goroutine for a script that has something queued; the goroutine takes turns with those of
// other scripts, and its rows return to the loop as a result. So nothing waits for a script but
// the alerts on it, and the watermark of their bars.

const (
	maxScriptBars  = maxLoaded             // bars of a tracker that wait for scripts; beyond it the oldest is given up
	maxScriptTicks = 32                    // values of the forming bar that wait for a script; beyond it the oldest is given up
	scriptGrace    = time.Second           // after it, a script is late with its bar
	scriptRetry    = 5 * time.Second       // after which a script that found no memory is evaluated again
	leastScript    = 1 << 20               // bytes that must be left for a new alert on a script
	scriptTurn     = 50 * time.Millisecond // after which rows return to the loop
)

// script is a script that alerts depend on, over the bars of one tracker.
type script struct {
	key   string
	name  string
	on    market.Interval // of longer bars than those of the tracker; 0 for those
	owner principal.Owner
	depth int
	queue []scriptTask // oldest first
	busy  bool         // a goroutine works on the first tasks
	retry time.Time    // when it is evaluated again after it found no memory; zero if it waits for none
	ended bool         // no alert depends on it

	// Of the goroutine while busy.
	evaluator *evaluate.Evaluator
	run       *budget.Run // what the evaluator holds
}

// scriptTask is a bar that a script is to evaluate.
type scriptTask struct {
	asked *askedBar   // of a closed bar; nil for a tick
	bars  market.Bars // closed, up to this one

	forming market.Bar // of a tick
	at      time.Time  // of a tick
}

// askedBar is a closed bar that waits for scripts and longer bars, with the rows that are known.
type askedBar struct {
	alert.Closing
	live        bool // it counts as late if its scripts are
	asked       time.Time
	waiting     int  // scripts that have not answered, and one for longer bars
	wantsLonger bool // it waits for longer bars
	dropped     bool // nobody waits for it any more
	rows        []keyedRow
}

// scriptAnswer is what a script says of a task.
type scriptAnswer struct {
	task   scriptTask
	row    alert.Row
	known  bool
	failed error
}

// script returns the script of an indicator and creates it if it is missing.
func (b *barTracker) script(l *loop, g alert.Group) *script {
	s := b.scripts[g.Key]
	if s == nil {
		owner, env := l.index.ScriptOwner(b.dependency, g.Key), b.env(g)
		run := l.cfg.Scripts.Run(l.ctx, owner)
		env.Budget = run
		ev := evaluate.New(g.Selection, env)
		s = &script{key: g.Key, name: ev.Name(), on: g.Longer, owner: owner, depth: ev.Depth(), evaluator: ev, run: run}
		b.scripts[g.Key] = s
	}
	return s
}

// ask queues a closed bar for the scripts whose window is long enough; bars ends with it.
func (b *barTracker) ask(l *loop, a *askedBar, bars market.Bars, scripts []*script) {
	if len(scripts) == 0 && !a.wantsLonger {
		return
	}
	if len(b.asked) >= maxScriptBars {
		l.giveUp(b)
	}
	a.asked, a.waiting = l.cfg.Now(), len(scripts)
	if a.wantsLonger {
		a.waiting++
	}
	b.asked = append(b.asked, a)
	for _, s := range scripts {
		s.queue = append(s.queue, scriptTask{asked: a, bars: bars})
		l.work(b, s)
	}
}

// giveUp drops the oldest bar that waits.
func (l *loop) giveUp(b *barTracker) {
	oldest := b.asked[0]
	oldest.dropped = true
	b.asked = b.asked[1:]
	for _, s := range b.scripts {
		s.queue = slices.DeleteFunc(s.queue, func(t scriptTask) bool { return t.asked == oldest })
	}
	if l.scriptsSkipped++; l.scriptsSkipped == 1 {
		l.cfg.Log.WarnContext(l.ctx, "bar skipped: scripts of alerts are too slow, or longer bars are missing", "symbol", b.dependency.Instrument.String(), "interval", b.dependency.Interval.String())
	}
}

// askTick queues a value of the forming bar.
func (b *barTracker) askTick(l *loop, s *script, forming market.Bar, at time.Time) {
	ticks, oldest := 0, -1
	for i := range s.queue {
		if s.queue[i].asked == nil {
			if ticks++; oldest < 0 {
				oldest = i
			}
		}
	}
	if ticks >= maxScriptTicks {
		s.queue = slices.Delete(s.queue, oldest, oldest+1)
	}
	s.queue = append(s.queue, scriptTask{bars: b.bars.Slice(0, b.bars.Len()), forming: forming, at: at})
	l.work(b, s)
}

// scriptsOn returns the scripts of a tracker that can evaluate its newest bar.
func (b *barTracker) scriptsOn(l *loop) (all []*script) {
	for _, g := range l.watched(b) {
		if !alert.UsesScript(g.Selection) {
			continue
		}
		if s := b.script(l, g); b.bars.Len() >= s.depth || b.reachesStart {
			all = append(all, s)
		}
	}
	return all
}

// work evaluates what is queued for a script, unless that is under way.
func (l *loop) work(b *barTracker, s *script) {
	if s.busy || len(s.queue) == 0 || l.cfg.Now().Before(s.retry) {
		return
	}
	s.busy, s.retry = true, time.Time{}
	tasks := slices.Clone(s.queue[:min(len(s.queue), maxPending)])
	token := b.dependency.Instrument.String() + " " + b.dependency.Interval.String() + " " + s.key
	l.scriptBegins(b, s)
	l.async(func(ctx context.Context) func() {
		held, done, err := l.scriptTurns.Hold(ctx, string(s.owner), token)
		if err != nil {
			return nil
		}
		end := l.evaluating(ctx, b.dependency, s.key)
		answers := s.evaluate(held, tasks)
		end()
		done()
		if ctx.Err() != nil {
			return nil // a script that was interrupted has not failed
		}
		return func() { l.answered(b, s, answers) }
	})
}

// scriptBegins and scriptEnded count the scripts that have something to do. They run in the loop:
// scriptBegins before the script takes its first step, scriptEnded after its rows have returned.
// Evaluations records a script only while it has its turn.
func (l *loop) scriptBegins(*barTracker, *script) { l.scriptsBusy++ }

func (l *loop) scriptEnded(*barTracker, *script) { l.scriptsBusy-- }

// evaluate evaluates tasks, at least one, for as long as a turn lasts.
func (s *script) evaluate(ctx context.Context, tasks []scriptTask) []scriptAnswer {
	var answers []scriptAnswer
	s.run.In(ctx)
	for began := time.Now(); len(answers) < len(tasks) && (len(answers) == 0 || time.Since(began) < scriptTurn); {
		answer := s.answer(&tasks[len(answers)])
		answers = append(answers, answer)
		if answer.failed != nil || fair.Pause(ctx) != nil {
			break
		}
	}
	return answers
}

func (s *script) answer(t *scriptTask) scriptAnswer {
	answer := scriptAnswer{task: *t, known: true}
	switch {
	case t.asked == nil:
		answer.row, answer.known = s.evaluator.Peek(&t.bars, t.forming)
	case s.on != 0:
		answer.row = *s.evaluator.Newest(&t.bars)
	default:
		answer.row = *s.evaluator.Last(&t.bars)
	}
	answer.row = cloneRow(&answer.row)
	answer.failed = s.evaluator.Failed()
	return answer
}

func cloneRow(row *alert.Row) alert.Row {
	return alert.Row{Values: slices.Clone(row.Values), Prev: slices.Clone(row.Prev), Signals: slices.Clone(row.Signals)}
}

// answered fires what the rows of a script make true, and goes on with what is queued.
func (l *loop) answered(b *barTracker, s *script, answers []scriptAnswer) {
	l.scriptEnded(b, s)
	s.busy = false
	if l.barTrackers[b.dependency] != b {
		s.run.Close()
		l.starved.remove(s)
		return // untracked meanwhile; who tracks it next begins at the watermark
	}
	now := l.cfg.Now()
	answers = l.withoutMemory(b, s, answers, now)
	s.queue = afterTasks(s.queue, answers)
	for i := range answers {
		answer := &answers[i]
		l.evaluations++
		if answer.task.asked == nil {
			l.answeredTick(b, s, answer)
		} else {
			l.answeredBar(b, s, answer, now)
		}
	}
	b.forgetAnswered()
	b.markEvaluated(l)
	if s.ended {
		b.endScript(l, s)
	}
	l.work(b, s)
}

// withoutMemory leaves out the last answer of a script that found no memory. It stays queued and is asked
// again later; the script has not failed.
func (l *loop) withoutMemory(b *barTracker, s *script, answers []scriptAnswer, now time.Time) []scriptAnswer {
	last := len(answers) - 1
	if last < 0 || !budget.IsMemory(answers[last].failed) {
		l.starved.remove(s)
		return answers
	}
	if l.scriptsStarved++; l.scriptsStarved == 1 {
		l.cfg.Log.WarnContext(l.ctx, "script of alerts waits for memory", "script", s.name, "owner", s.owner, "error", answers[last].failed)
	}
	l.starved.put(s, l.alertsOn(b.dependency, s.key), answers[last].failed)
	s.evaluator.Forget()
	s.retry = now.Add(scriptRetry)
	return answers[:last]
}

// retryScripts evaluates the scripts again that found no memory.
func (l *loop) retryScripts(now time.Time) {
	for _, b := range l.barTrackers {
		for _, s := range b.scripts {
			if !s.retry.IsZero() && !now.Before(s.retry) {
				l.work(b, s)
			}
		}
	}
}

// checkMemory refuses an alert on a script whose owner has no memory left for it.
func (l *loop) checkMemory(a *alert.Alert) error {
	if l.cfg.Scripts == nil || len(a.Condition.Scripts()) == 0 {
		return nil
	}
	return l.cfg.Scripts.Room(a.Owner, leastScript)
}

// afterTasks removes tasks that were answered from a queue. Ticks may have been given up meanwhile.
func afterTasks(queue []scriptTask, answers []scriptAnswer) []scriptTask {
	for i := range answers {
		t := &answers[i].task
		if len(queue) > 0 && queue[0].asked == t.asked && queue[0].at.Equal(t.at) {
			queue = queue[1:]
		}
	}
	if len(queue) == 0 {
		return nil
	}
	return queue
}

// answeredBar fires the alerts on a script at a closed bar.
func (l *loop) answeredBar(b *barTracker, s *script, answer *scriptAnswer, now time.Time) {
	a := answer.task.asked
	a.waiting--
	if a.dropped {
		return
	}
	after := now.Sub(a.asked)
	if a.live && after > scriptGrace {
		l.scriptsLate++
	}
	c := a.closing(now)
	for _, signal := range answer.row.Signals {
		l.newFirings = l.index.FireSignal(l.newFirings, b.dependency, s.key, signal, c.Closed, c.Late)
	}
	a.rows = append(a.rows, keyedRow{s.key, answer.row, a.closedOf(s.on)})
	a.setRows(l, b.dependency)
	l.newFirings = l.index.FireScript(l.newFirings, b.dependency, s.key, &c)
	if answer.failed != nil {
		l.endBroken(b.dependency, s.key, s.name, answer.failed, c.Closed)
	}
}

// answeredTick fires the alerts on a script while a bar forms.
func (l *loop) answeredTick(b *barTracker, s *script, answer *scriptAnswer) {
	if answer.known {
		l.index.SetRow(b.dependency, s.key, answer.row, answer.task.at)
		l.newFirings = l.index.FireScriptTick(l.newFirings, b.dependency, s.key, answer.task.forming, b.listing.opened(answer.task.forming), answer.task.at)
	}
	if answer.failed != nil {
		l.endBroken(b.dependency, s.key, s.name, answer.failed, answer.task.at)
	}
}

// endScript removes what is queued for a script that no alert depends on, once it does not run.
func (b *barTracker) endScript(l *loop, s *script) {
	s.ended = true
	l.starved.remove(s)
	if s.busy {
		return
	}
	for i := range s.queue {
		if a := s.queue[i].asked; a != nil {
			a.waiting--
		}
	}
	s.queue = nil
	s.run.Close()
	b.forgetAnswered()
}

// forgetAnswered removes the bars that no script is still asked about.
func (b *barTracker) forgetAnswered() {
	b.asked = slices.DeleteFunc(b.asked, func(a *askedBar) bool { return a.waiting <= 0 })
}

// markEvaluated sets the watermark to the newest bar that was evaluated for all alerts: the bar
// before the first one that waits for a script.
func (b *barTracker) markEvaluated(l *loop) {
	if !b.ready || !b.isZero() { // an indicator waits for older bars and then for newer ones
		return
	}
	at := b.bars.T[b.bars.Len()-1]
	for _, a := range b.asked {
		at = min(at, a.Prev.T)
	}
	if at > 0 {
		l.setWatermark(&b.tracker, at)
	}
}

// pendingScripts returns how many bars wait for scripts.
func (l *loop) pendingScripts() (n int) {
	for _, b := range l.barTrackers {
		for _, a := range b.asked {
			if a.waiting > 1 || !a.wantsLonger {
				n++
			}
		}
	}
	return n
}
