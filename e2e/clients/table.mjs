// The table of clients: how it is printed, and compared with the expected one.

const columns = ["client", "version", "mode", "transport", "logins", "serves", "opens", "speaks", "connects", "tools", "call", "oauth", "push", "streams", "restart"];

// print writes the table, the sizes of the first answers and the reasons.
export function print(results, expected) {
  const lines = [columns, ...results.map(({ measured }) => columns.map((name) => String(measured[name] ?? "-")))];
  const widths = columns.map((_, i) => Math.max(...lines.map((line) => line[i].length)));
  for (const line of lines) console.log(line.map((cell, i) => cell.padEnd(widths[i])).join("  ").trimEnd());
  for (const [what, key] of [["initialize", "initialize"], ["tools/list", "list"]]) {
    const sizes = Map.groupBy(results.filter((r) => r[key]), (r) => r[key]);
    const text = [...sizes].map(([bytes, rows]) => `${bytes} bytes for ${sizes.size === 1 ? "every client" : rows.map((r) => `${r.measured.client} ${r.measured.mode} ${r.measured.transport}`).join(", ")}`);
    console.log(`result of ${what}: ${text.join("; ")}`);
  }
  console.log(`seconds: ${results.map((r) => `${r.measured.client} ${r.measured.mode} ${r.measured.transport} ${r.seconds?.toFixed(1)}`).join(", ")}`);
  for (const row of expected) if (row.why) console.log(`${row.client} ${row.mode} ${row.transport}: ${row.why}`);
}

// compare reports each row that is not as expected, and each that lacks its reason.
export function compare(results, expected) {
  let same = true;
  const complain = (text) => { same = false; console.log(text); };
  expected.forEach(({ why, ...row }, i) => {
    const wanted = JSON.stringify(row), got = JSON.stringify(results[i].measured);
    const name = `${row.client} ${row.mode} ${row.transport}`;
    if (wanted !== got) complain(`clients: ${name} is not as expected.jsonl says\n- ${wanted}\n+ ${got}\n${results[i].error ?? ""}\n${results[i].log?.slice(-3000) ?? ""}`);
    if (!why && (Object.values(row).some((value) => /^(no|not shown|needs a model)$/.test(value)) || row.restart.includes(","))) {
      complain(`clients: ${name} has a no, or more than one action after a restart, without a reason in "why"`);
    }
  });
  return same;
}
