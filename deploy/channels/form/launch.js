#!/usr/bin/env node
// Starts candela: the program for this platform is in one of the optional packages.
"use strict";
const { spawn } = require("node:child_process");
const { name, optionalDependencies } = require("../package.json");

function fail(why) {
  process.stderr.write(`candela: ${why}\n`);
  process.exit(1);
}

const wanted = `${name}-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${wanted}/bin/${process.platform === "win32" ? "candela.exe" : "candela"}`);
} catch {
  fail(
    wanted in optionalDependencies
      ? `the package ${wanted} is not installed. Install ${name} again, with optional dependencies.`
      : `there is no program for ${process.platform} on ${process.arch}. Build it from its source.`,
  );
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit", windowsHide: true });
child.on("error", (err) => fail(`${program} does not start: ${err.message}`));
// A terminal sends Ctrl-C to both, and a second one would end candela without its last work.
process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"));
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => {
  if (!signal) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
