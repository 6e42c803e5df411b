# Short names for the usual commands. What the checks are is in .ci/run.
.PHONY: build test check lint bench run

# The binary, with the interactive chart where npm and the package registry are there.
build:
	web/bring || echo 'candela is built without the interactive chart: web/bring needs npm and a network.'
	CGO_ENABLED=0 go build -trimpath -o dist/candela ./cmd/candela

# The tests as they run before a merge.
test:
	.ci/run gate tools test

check:
	.ci/run

lint:
	.ci/run quick tools lint

bench:
	go test -run '^$$' -bench . ./...

# make run ARGS="--serve --port 9000"
run:
	go run ./cmd/candela $(ARGS)
