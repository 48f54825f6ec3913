// Which classes overlap: a heat map of tree edges, and the pairs with the most edges.
{
  const canvas = byId("overlap-canvas");
  const order = data.heat.order;
  const place = new Map(order.map((number, i) => [number, i]));
  const n = order.length;
  let grid = { left: 0, top: 0, cell: 1 };
  let at = null;

  const shownPairs = () => {
    const cluster = chosen === null ? null : clusterOf.get(chosen);
    return cluster ? cluster.pairs : data.heat.pairs;
  };
  const countOf = (a, b) => {
    const found = shownPairs().find(([i, j]) => (i === a && j === b) || (i === b && j === a));
    return found ? found[2] : 0;
  };

  // The cluster with the most edges between two classes, as a button that chooses it.
  function whereMost(a, b) {
    let [best, most] = [null, 0];
    for (const cluster of data.clusters) {
      const found = cluster.pairs.find(([i, j]) => i === a && j === b);
      if (found && found[2] > most) [best, most] = [cluster.id, found[2]];
    }
    if (best === null) return "";
    const button = make("button", { type: "button", class: "link", "aria-label": `Show cluster ${best}` }, String(best));
    button.addEventListener("click", () => choose(chosen === best ? null : best));
    return button;
  }

  function fitText(context, text, width) {
    if (context.measureText(text).width <= width) return text;
    let cut = text;
    while (cut.length > 1 && context.measureText(`${cut}…`).width > width) cut = cut.slice(0, -1);
    return `${cut}…`;
  }

  function draw() {
    const width = canvas.clientWidth;
    const named = n <= 40 && (width - 60) / n >= 9;
    const probe = canvas.getContext("2d");
    const family = getComputedStyle(document.body).fontFamily;
    const size = clamp((width - 60) / n * 0.72, 8, 13);
    probe.font = `${size}px ${family}`;
    const longest = named ? Math.max(...order.map((k) => probe.measureText(className(k)).width)) : 0;
    const margin = named ? clamp(longest + 12, 20, width * 0.25) : 4;
    const cell = Math.min((width - margin - 4) / n, n <= 4 ? 90 : 64);
    const upright = longest <= cell; // names above the columns need not be rotated
    const over = named && upright ? size + 12 : margin;
    const height = over + cell * n + 4;
    const left = margin + Math.max(0, (width - margin - 4 - cell * n) / 2);
    const context = sharpContext(canvas, height);
    grid = { left, top: over, cell };
    const gap = cell > 12 ? 1.5 : cell > 5 ? 0.5 : 0;
    context.fillStyle = cssColor("faint");
    context.fillRect(left, over, cell * n, cell * n);
    const pairs = shownPairs();
    const top = pairs.reduce((most, pair) => Math.max(most, pair[2]), 1);
    const square = (i, j) => context.fillRect(left + j * cell + gap / 2, over + i * cell + gap / 2, cell - gap, cell - gap);
    context.fillStyle = cssColor("card");
    if (gap) for (let i = 0; i < n; i += 1) for (let j = 0; j < n; j += 1) square(i, j);
    context.fillStyle = cssColor("line");
    for (let i = 0; i < n; i += 1) square(i, i);
    for (const [a, b, count] of pairs) {
      context.fillStyle = rampColor(0.06 + (0.94 * count) / top);
      const [i, j] = [place.get(a), place.get(b)];
      square(i, j);
      square(j, i);
    }
    const ramp = make("span", { class: "ramp" });
    ramp.style.background = rampGradient();
    byId("overlap-legend").replaceChildren("0", ramp, plural(top, "edge", "edges"));
    context.font = `${size}px ${family}`;
    context.textBaseline = "middle";
    if (named) {
      context.fillStyle = cssColor("soft");
      order.forEach((number, i) => {
        const text = fitText(context, className(number), margin - 10);
        context.textAlign = "right";
        context.fillText(text, left - 7, over + (i + 0.5) * cell);
        context.save();
        context.translate(left + (i + 0.5) * cell, over - 9);
        if (!upright) {
          context.rotate(-Math.PI / 2);
          context.textAlign = "left";
        } else context.textAlign = "center";
        context.fillText(text, 0, 0);
        context.restore();
      });
    }
    if (cell >= 24) {
      context.textAlign = "center";
      for (const [a, b, count] of pairs) {
        const strong = count / top > 0.45;
        context.fillStyle = strong === isDark() ? "#10151a" : strong ? "#ffffff" : cssColor("ink");
        for (const [i, j] of [[place.get(a), place.get(b)], [place.get(b), place.get(a)]]) {
          context.fillText(thousands(Math.round(count)), left + (j + 0.5) * cell, over + (i + 0.5) * cell);
        }
      }
    }
    if (at) {
      context.strokeStyle = cssColor("mark");
      context.lineWidth = 2.5;
      context.strokeRect(left + at[1] * cell, over + at[0] * cell, cell, cell);
    }
  }

  function note() {
    const parts = [];
    if (n > 12) parts.push("Classes are ordered so that those that overlap are neighbors.");
    if (data.heat.left) parts.push(`These are the ${n} classes that overlap most; ${plural(data.heat.left, "other is", "others are")} left out.`);
    parts.push("These are raw counts: a tree has to connect all classes of its cluster, even those that lie far apart. The last column names the cluster with the most of these edges.");
    byId("overlap-note").textContent = parts.join(" ");
  }

  function list() {
    const pairs = shownPairs();
    const total = pairs.reduce((sum, pair) => sum + pair[2], 0);
    const body = byId("overlap-pairs");
    body.replaceChildren();
    for (const [a, b, count] of pairs.slice(0, 10)) {
      body.append(make("tr", {},
        make("td", {}, `${className(a)} – ${className(b)}`),
        make("td", { class: "num" }, thousands(count)),
        make("td", { class: "num" }, percent(count / total)),
        make("td", { class: "num" }, whereMost(a, b))));
    }
    if (!pairs.length) body.append(make("tr", {}, make("td", { colspan: 4 }, "No two classes are joined.")));
  }

  function pointTo(cell, speak) {
    if (cell && at && cell[0] === at[0] && cell[1] === at[1]) return;
    at = cell;
    draw();
    if (!cell) {
      hideTip();
      return;
    }
    const [a, b] = [order[cell[0]], order[cell[1]]];
    const title = a === b ? className(a) : `${className(a)} – ${className(b)}`;
    const where = chosen === null ? "" : ` in cluster ${chosen}`;
    const lines = a === b
      ? [plural(data.sizes[a], "row", "rows")]
      : [`${plural(countOf(a, b), "tree edge joins", "tree edges join")} these classes${where}`];
    const box = canvas.getBoundingClientRect();
    showTip(box.left + grid.left + (cell[1] + 0.8) * grid.cell,
      box.top + grid.top + (cell[0] + 0.5) * grid.cell, title, lines);
    if (speak) byId("overlap-live").textContent = [title, ...lines].join(", ");
  }

  function under(event) {
    const box = canvas.getBoundingClientRect();
    const j = Math.floor((event.clientX - box.left - grid.left) / grid.cell);
    const i = Math.floor((event.clientY - box.top - grid.top) / grid.cell);
    return i >= 0 && j >= 0 && i < n && j < n ? [i, j] : null;
  }
  canvas.addEventListener("pointermove", (event) => pointTo(under(event), false));
  canvas.addEventListener("pointerdown", (event) => pointTo(under(event), false));
  canvas.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") pointTo(null, false);
  });
  canvas.addEventListener("blur", () => pointTo(null, false));
  canvas.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!way) return;
    event.preventDefault();
    const [i, j] = at || [0, 0];
    pointTo(at ? [clamp(i + way[0], 0, n - 1), clamp(j + way[1], 0, n - 1)] : [0, Math.min(1, n - 1)], true);
  });

  onChoice(() => {
    list();
    draw();
  });
  note();
  list();
  drawn(canvas, draw);
}
