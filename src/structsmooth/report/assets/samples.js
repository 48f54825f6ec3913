// The most ambiguous samples, of all clusters or of one.
if (data.samples.length) {
  const list = byId("samples-list");
  const MOST = 24;

  function card(sample) {
    const own = className(sample.label);
    const item = make("li");
    if (sample.picture) {
      item.append(make("img", { src: sample.picture, alt: `Row ${sample.row}, labeled ${own}` }));
    }
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
    item.append(
      make("div", { class: "own" }, `labeled “${own}”`),
      make("div", { class: "small" }, `row ${sample.row}, cluster ${sample.cluster}`),
      mix,
      make("div", { class: "near" }, `its ${total} neighbors: ${near}`),
    );
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
    const shown = fitting.slice(0, fitting.some((s) => s.picture) ? MOST : MOST / 2);
    list.replaceChildren(...shown.map(card));
    list.classList.toggle("text", !shown.some((s) => s.picture));
    byId("samples-count").textContent = fitting.length
      ? `${shown.length} of ${fitting.length} shown`
      : reason(cluster);
  }
  onChoice(draw);
  drawings.push(() => draw(chosen));
  draw(null);
}
