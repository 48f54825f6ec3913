// Strength against Bayes error, a mark for each cluster.
{
  const holder = byId("strengths-chart");
  const inOrder = [...data.clusters].sort((a, b) => a.lower - b.lower || a.strength - b.strength);
  let focus = 0;

  function draw() {
    const width = Math.max(280, holder.clientWidth);
    const height = clamp(width * 0.44, 270, 440);
    const [left, right, top, bottom] = [58, 12, 14, 46];
    const highest = (list) => list.reduce((a, b) => Math.max(a, b), 0);
    const xMax = highest(inOrder.map((c) => Math.max(c.lower * 1.15, Math.min(c.interval[1], c.lower * 3 + 0.02)))) || 0.01;
    const yMax = 1.12 * (highest([data.alpha, ...inOrder.map((c) => (data.perPoint ? c.range[1] : c.strength))]) || 0.1);
    const x = (v) => left + (v / xMax) * (width - left - right);
    const y = (v) => height - bottom - (v / yMax) * (height - top - bottom);
    const svg = makeSvg("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Strength against estimated Bayes error. Use the arrow keys to move from cluster to cluster." });
    const xs = niceTicks(0, 100 * xMax, width > 700 ? 9 : width > 420 ? 6 : 4);
    for (const tick of xs.ticks) {
      svg.append(makeSvg("line", { class: "grid", x1: x(tick / 100), x2: x(tick / 100), y1: top, y2: height - bottom }));
      svg.append(makeSvg("text", { x: x(tick / 100), y: height - bottom + 18, "text-anchor": "middle" }, tick.toFixed(xs.digits)));
    }
    const ys = niceTicks(0, yMax, 5);
    for (const tick of ys.ticks) {
      svg.append(makeSvg("line", { class: "grid", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }));
      svg.append(makeSvg("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, tick.toFixed(ys.digits)));
    }
    svg.append(makeSvg("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, "estimated Bayes error, lower bound, %"));
    svg.append(makeSvg("text", { transform: `translate(13 ${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, "strength"));
    const faded = (c) => (chosen !== null && c.id !== chosen ? " faded" : "");
    for (const c of inOrder) {
      svg.append(makeSvg("line", { class: "reach" + faded(c), x1: x(c.interval[0]), x2: Math.min(x(c.interval[1]), width - right), y1: y(c.strength), y2: y(c.strength) }));
      if (data.perPoint) {
        svg.append(makeSvg("line", { class: "reach" + faded(c), x1: x(c.lower), x2: x(c.lower), y1: y(c.range[0]), y2: y(c.range[1]) }));
      }
    }
    svg.append(makeSvg("line", { class: "uniform", x1: left, x2: width - right, y1: y(data.alpha), y2: y(data.alpha) }));
    // On the left if a mark is in the way on the right.
    const isTaken = inOrder.some((c) => x(c.lower) > width - right - 100 && Math.abs(y(c.strength) - y(data.alpha) - 12) < 16);
    const side = isTaken ? { x: left + 6, "text-anchor": "start" } : { x: width - right, "text-anchor": "end" };
    const name = makeSvg("text", { class: "uniform-name", y: y(data.alpha) + 16, ...side }, `uniform ${data.alpha.toFixed(3)}`);
    svg.append(name);
    inOrder.forEach((c, place) => {
      const r = clamp(5.5 * Math.sqrt(c.weight * inOrder.length), 2.5, 22);
      const dot = makeSvg("circle", {
        class: "dot" + faded(c) + (c.id === chosen ? " chosen" : ""), cx: x(c.lower), cy: y(c.strength), r,
        tabindex: place === focus ? 0 : -1, role: "button",
        "aria-label": [`cluster ${c.id}`, ...clusterLines(c)].join(", "),
      });
      const show = () => {
        const box = dot.getBoundingClientRect();
        showTip(box.right - 8, (box.top + box.bottom) / 2, `cluster ${c.id}`, clusterLines(c));
      };
      dot.addEventListener("pointerenter", show);
      dot.addEventListener("pointerleave", hideTip);
      dot.addEventListener("focus", () => {
        focus = place;
        show();
      });
      dot.addEventListener("blur", hideTip);
      dot.addEventListener("click", () => choose(c.id === chosen ? null : c.id));
      dot.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          choose(c.id === chosen ? null : c.id);
          holder.querySelectorAll(".dot")[focus].focus();
        }
        const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
        if (!step) return;
        event.preventDefault();
        const dots = holder.querySelectorAll(".dot");
        focus = clamp(place + step, 0, dots.length - 1);
        dots.forEach((other, i) => other.setAttribute("tabindex", i === focus ? 0 : -1));
        dots[focus].focus();
      });
      svg.append(dot);
    });
    holder.replaceChildren(svg);
  }

  onChoice(draw);
  drawn(holder, draw);
}
