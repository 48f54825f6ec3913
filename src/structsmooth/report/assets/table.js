// The cluster table: its headings sort it, and typed text filters it. Clusters that say
// little come last, whichever way the estimates are sorted.
{
  const table = byId("cluster-table");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const rank = new Map(rows.map((row, place) => [row, place]));
  const estimates = ["strength", "lower", "low"];
  const filter = byId("table-filter");
  const differs = byId("table-differs");
  byId("table-tools").hidden = false;
  // On a phone its parts are blocks, which are a table only by their roles.
  const roles = { table: "table", thead: "rowgroup", tbody: "rowgroup", tr: "row", td: "cell" };
  for (const part of [table, ...table.querySelectorAll("*")]) {
    const heading = part.scope === "row" ? "rowheader" : "columnheader";
    const role = part.tagName === "TH" ? heading : roles[part.tagName.toLowerCase()];
    if (role) part.setAttribute("role", role);
  }

  const namesOf = (row) => row.querySelector(".names").textContent;
  const words = new Map(rows.map((row) => {
    const cluster = clusterOf.get(Number(row.dataset.cluster));
    const names = cluster ? cluster.members.map(className) : [];
    const others = cluster ? cluster.distinctions : [];
    return [row, [namesOf(row), ...names, ...others].join("\n").toLowerCase()];
  }));

  function apply() {
    const wanted = filter.value.trim().toLowerCase();
    const isNumber = /^\d+$/.test(wanted);
    let count = 0;
    for (const row of rows) {
      const fits =
        (!wanted || words.get(row).includes(wanted) || (isNumber && row.dataset.cluster === wanted)) &&
        (!differs.checked || row.dataset.differs === "1");
      row.hidden = !fits;
      count += fits;
    }
    byId("table-count").textContent = `${count} of ${rows.length} shown`;
  }

  function sort(heading, direction) {
    const key = heading.dataset.key;
    const sign = direction === "ascending" ? 1 : -1;
    const value = (row) => (key === "classes" ? namesOf(row) : Number(row.dataset[key]));
    const compare = (a, b) => {
      if (estimates.includes(key) && a.dataset.little !== b.dataset.little) {
        return a.dataset.little - b.dataset.little;
      }
      const [p, q] = [value(a), value(b)];
      const order = key === "classes" ? p.localeCompare(q, undefined, { numeric: true }) : p - q;
      return sign * order || rank.get(a) - rank.get(b);
    };
    body.append(...rows.sort(compare));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", direction);
  }

  for (const heading of table.tHead.querySelectorAll("[data-key]")) {
    const button = make("button", { type: "button" }, heading.textContent);
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const now = heading.getAttribute("aria-sort");
      const first = ["cluster", "classes"].includes(heading.dataset.key) ? "ascending" : "descending";
      const other = first === "ascending" ? "descending" : "ascending";
      sort(heading, now === first ? other : first);
    });
  }
  for (const row of rows) {
    const id = Number(row.dataset.cluster);
    const button = make("button", { type: "button", "aria-pressed": "false", "aria-label": `Show cluster ${id}` }, String(id));
    row.cells[0].replaceChildren(button);
    button.addEventListener("click", () => choose(chosen === id ? null : id));
  }
  onChoice((cluster) => {
    for (const row of rows) {
      const is = Number(row.dataset.cluster) === cluster;
      row.classList.toggle("chosen", is);
      row.cells[0].firstChild.setAttribute("aria-pressed", is);
    }
  });
  filter.addEventListener("input", apply);
  differs.addEventListener("change", apply);
  apply();
}
