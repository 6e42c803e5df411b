# Functions of the scripts in this folder. They set node.
# shellcheck shell=bash disable=SC2154

# port prints a free port below the system's ephemeral range, from which another program
# could get it first. Scripts that run at the same time reserve theirs in the folder E2E_PORTS.
port() {
	"$node" -e '
const net = require("net"), fs = require("fs"), path = require("path"), notes = process.env.E2E_PORTS;
let end = 30000;
try {
	const low = parseInt(fs.readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8"));
	if (low > 2048) end = Math.min(end, low); // or hardly any is below
} catch {} // not Linux
(function look(tries) {
	const first = Math.max(1024, end - 10000), port = first + Math.floor(Math.random() * (end - first)), server = net.createServer();
	server.on("error", (error) => { if (tries === 0) throw error; look(tries - 1); });
	server.listen(port, "127.0.0.1", () => server.close(() => {
		try {
			if (notes) fs.mkdirSync(path.join(notes, String(port)));
		} catch { // another has it
			return look(tries);
		}
		console.log(port);
	}));
})(100);'
}

# pick SHORT LONG prints the first, or the second where the long form is asked for.
pick() {
	if [ "${LONGTEST:-}" = 1 ]; then echo "$2"; else echo "$1"; fi
}

# awaited COMMAND... tries until it succeeds. The three minutes are there to end a hang:
# what is waited for may take long on a busy machine.
awaited() {
	local end=$((SECONDS + 180))
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

# has_chromium reports whether there is a browser.
has_chromium() { [ -n "${CHROMIUM:-}" ] || command -v chromium >/dev/null; }
