// Keys of the host's desk: / goes to the filter, j and k move through the rows, x selects one, Enter opens it.
// Every page works without this file.
const rows = () => [...document.querySelectorAll("tr[data-href]")];
const boxes = () => [...document.querySelectorAll("input[name=id]")];
let at = -1;

function mark() {
  const chosen = boxes().filter((b) => b.checked).length;
  boxes().forEach((b) => b.closest("tr").classList.toggle("sel", b.checked));
  const text = document.getElementById("chosen");
  if (text) text.textContent = `${chosen} selected`;
  const all = document.getElementById("all");
  if (all) all.checked = chosen > 0 && chosen === boxes().length;
}

function move(step) {
  const list = rows();
  if (list.length === 0) return;
  at = Math.min(list.length - 1, Math.max(0, at + step));
  list[at].querySelector("a").focus();
}

document.addEventListener("change", (e) => {
  if (e.target.id === "all") boxes().forEach((b) => { b.checked = e.target.checked; });
  if (e.target.matches("select[data-go]")) e.target.form.requestSubmit();
  mark();
});

document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input[type=text],input[type=password],textarea,select")) return;
  const row = e.target.closest("tr[data-href]") || rows()[at];
  if (e.key === "/") document.getElementById("q")?.focus();
  else if (e.key === "j") move(1);
  else if (e.key === "k") move(-1);
  else if (e.key === "x" && row) {
    const box = row.querySelector("input[name=id]");
    if (box) box.checked = !box.checked;
    mark();
  } else return;
  e.preventDefault();
});
mark();
