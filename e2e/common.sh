# What the scripts of this folder share. They set node.
# shellcheck shell=bash disable=SC2154

# port prints a port that nobody listens on now. It is none of those that a system gives
# to whoever asks for any: one of them could be another's before it is used.
port() {
	"$node" -e '
const net = require("net");
(function look(tries) {
	const port = 20000 + Math.floor(Math.random() * 10000), server = net.createServer();
	server.on("error", (error) => { if (tries === 0) throw error; look(tries - 1); });
	server.listen(port, "127.0.0.1", () => server.close(() => console.log(port)));
})(100);'
}

# awaited COMMAND... tries until it succeeds. The minute is there to end a hang: what
# is waited for may take long on a busy machine.
awaited() {
	local end=$((SECONDS + 60))
	until "$@"; do
		if [ "$SECONDS" -ge "$end" ]; then return 1; fi
		sleep 0.05
	done
}

# says FILE TEXT waits until a log says something.
says() {
	awaited grep -qs "$2" "$1" || { echo "$1 does not say $2" && return 1; }
}

# ended PID reports whether a process is over. One that nobody has asked how it ended
# still has its number.
ended() {
	! kill -0 "$1" 2>/dev/null || grep -qs '^State:[[:space:]]*Z' "/proc/$1/status"
}

# halted PID ends a process, a child or not, and waits until it is over.
halted() {
	kill "$1" 2>/dev/null || true
	awaited ended "$1" || { echo "process $1 does not end" >&2 && return 1; }
}
