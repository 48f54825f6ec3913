// Single rows: the most ambiguous samples, of all clusters or of one, and suspects.
function cardOf(row, ...about) {
  const item = make("li");
  const own = className(row.label);
  if (row.picture) {
    item.append(make("img", { src: row.picture, alt: `Row ${row.row}, labeled ${own}` }));
  }
  item.append(
    make("div", { class: "own" }, `labeled “${own}”`),
    ...about,
    make("div", { class: "small" }, `row ${row.row}, cluster ${row.cluster}`),
  );
  return item;
}

// The values of a row, those that are unusual in its cluster first.
function valuesOf(row) {
  const list = make("dl", { class: "values" });
  function add(from, to) {
    for (let i = from; i < to; i += 1) {
      const [feature, value, usual] = row.values.slice(3 * i, 3 * i + 3);
      const shown = make("dd", i < row.unusual ? { class: "unusual" } : {}, data.texts[value]);
      if (usual !== value) shown.append(make("span", {}, ` usually ${data.texts[usual]}`));
      list.append(make("div", {}, make("dt", {}, data.features[feature]), shown));
    }
  }
  const n = row.values.length / 3;
  if (!n) return [];
  const first = n <= data.firstValues + 1 ? n : data.firstValues;
  add(0, first);
  if (n === first) return [list];
  const button = make("button", { type: "button", class: "more" }, `Show ${n - first} more values`);
  button.addEventListener("click", () => {
    add(first, n);
    button.remove();
  });
  return [list, button];
}

const anyPicture = (rows) => rows.some((row) => row.picture);

if (data.samples.length) {
  const list = byId("samples-list");
  const MOST = 24;

  function card(sample) {
    const total = sample.neighbors.reduce((sum, [, count]) => sum + count, 0);
    const named = sample.neighbors.slice(0, 4).map(([k, count]) => `${count}\u00a0×\u00a0“${className(k)}”`);
    const rest = sample.neighbors.slice(4).reduce((sum, [, count]) => sum + count, 0);
    const near = named.join(", ") + (rest ? `, ${rest} of other classes` : "");
    const mix = make("div", { class: "mix", "aria-hidden": "true" });
    for (const [k, count] of sample.neighbors) {
      const part = make("span");
      part.style.flex = `${count}`;
      part.style.background = classColor(k);
      part.style.opacity = k === sample.label ? "1" : "0.75";
      mix.append(part);
    }
    const item = cardOf(sample);
    item.append(mix, make("div", { class: "near" }, `its ${total} neighbors: ${near}`), ...valuesOf(sample));
    return item;
  }

  function reason(cluster) {
    const found = clusterOf.get(cluster);
    if (found && found.little) return "This cluster has too few rows to rank its samples.";
    return "No row of this cluster is ambiguous: there are too few neighbors, or all have the same label.";
  }

  function draw(cluster) {
    const fitting = data.samples.filter((s) => cluster === null || s.cluster === cluster);
    // In the order of the report; the first samples have pictures if any have.
    const shown = fitting.slice(0, anyPicture(fitting) ? MOST : MOST / 2);
    list.replaceChildren(...shown.map(card));
    list.classList.toggle("text", !anyPicture(shown));
    byId("samples-count").textContent = fitting.length
      ? `${shown.length} of ${fitting.length} shown`
      : reason(cluster);
  }
  onChoice(draw);
  drawings.push(() => draw(chosen));
  draw(null);
}

if (data.suspects.length) {
  const list = byId("suspects-list");
  const more = byId("suspects-more");
  const most = anyPicture(data.suspects) ? 24 : 12;
  list.classList.toggle("text", !anyPicture(data.suspects));

  function card(row) {
    const item = cardOf(row, make("div", { class: "likely" }, `looks like “${className(row.likely)}”`));
    if (row.score !== null) item.append(make("div", { class: "near" }, `wrong with probability ${row.score.toFixed(2)}`));
    item.append(make("div", { class: "near" }, row.reason), ...valuesOf(row));
    return item;
  }
  list.append(...data.suspects.slice(0, most).map(card));
  more.hidden = data.suspects.length <= most;
  more.textContent = `Show ${data.suspects.length - most} more`;
  more.addEventListener("click", () => {
    list.append(...data.suspects.slice(most).map(card));
    more.hidden = true;
  });
}
