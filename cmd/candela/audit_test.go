package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/store/ledger"
	"candela/lib/market"
)

// storeWrites is a program for the scripts: it puts three alerts into the store of
// the directory that it is given. With "killed" it then ends as if by SIGKILL, with
// "stays" it marks that it is ready and holds the store open.
func storeWrites() {
	dir, how := os.Args[1], strings.Join(os.Args[2:], "")
	err := func() error {
		ctx := context.Background()
		l, err := ledger.Open(ctx, dir, time.Now)
		if err != nil {
			return err
		}
		for i := range 3 {
			a := alert.Alert{
				ID: fmt.Sprintf("alert-%d", i), Owner: "owner", Symbol: market.Symbol{Name: "BTCUSDT"}, Instrument: market.Symbol{Venue: "binance", Name: "BTCUSDT"},
				Condition: alert.Condition{Type: alert.PriceAbove, Threshold: decimal.New(100, 0)}, Created: time.Now(), Note: "a note \u202e\u009b31m",
			}
			if err := l.PutAlert(ctx, principal.Caller{Subject: "owner", Key: strings.Repeat("f", 64), Client: "client \x1b[31m"}, a); err != nil {
				return err
			}
		}
		switch how {
		case "killed":
			os.Exit(0)
		case "stays":
			if err := os.WriteFile("ready", nil, 0o600); err != nil {
				return err
			}
			select {}
		}
		return l.Close()
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// tamper DIRECTORY SQL changes a store behind the ledger's back.
func tamper(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tamper DIRECTORY SQL")
	}
	db, err := sql.Open("sqlite", filepath.Join(ts.MkAbs(args[0]), ledger.FileName))
	ts.Check(err)
	_, err = db.ExecContext(context.Background(), "DROP TRIGGER IF EXISTS events_no_update; DROP TRIGGER IF EXISTS events_no_delete; "+args[1])
	ts.Check(err)
	ts.Check(db.Close())
}

// capture sets a variable to what a part of a regular expression matched in the last output.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture NAME REGEXP")
	}
	found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) != 2 {
		ts.Fatalf("%s is not in the output", args[1])
	}
	ts.Setenv(args[0], found[1])
}
