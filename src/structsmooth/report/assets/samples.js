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
    const total = sample.near.reduce((sum, [, count]) => sum + count, 0);
    const near = sample.near.map(([k, count]) => `${count} × ${className(k)}`).join(", ");
    const mix = make("div", { class: "mix", "aria-hidden": "true" });
    for (const [k, count] of sample.near) {
      const part = make("span");
      part.style.flex = `${count}`;
      part.style.background = classColor(k);
      part.style.opacity = k === sample.label ? "1" : "0.75";
      mix.append(part);
    }
    item.append(
      make("div", { class: "own" }, own),
      make("div", { class: "small" }, `row ${sample.row}, cluster ${sample.cluster}`),
      mix,
      make("div", { class: "near" }, `its ${total} neighbors: ${near}`),
    );
    return item;
  }

  function draw(cluster) {
    const fitting = data.samples.filter((s) => cluster === null || s.cluster === cluster);
    // Those with a picture first: of many clusters only the hardest have them.
    const inOrder = [...fitting].sort((a, b) => !a.picture - !b.picture || b.ambiguity - a.ambiguity);
    const shown = inOrder.slice(0, MOST);
    list.replaceChildren(...shown.map(card));
    list.classList.toggle("text", !shown.some((s) => s.picture));
    byId("samples-count").textContent = fitting.length
      ? `${shown.length} of ${fitting.length} shown`
      : "No row here has a neighbor of another class.";
  }
  onChoice(draw);
  draw(null);
}
