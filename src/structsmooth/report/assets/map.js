// The map: rows on a plane.
const SHAPES = ["circle", "triangle", "square", "diamond", "down", "plus"];
const colored = data.colors.flatMap((color, number) => (color ? [number] : []));
const shapeOf = new Map(colored.map((k, place) => [k, SHAPES[place % SHAPES.length]]));

// Colors made for white paper are drawn lighter on black.
function classColor(number) {
  const color = data.colors[number];
  if (!color) return isDark() ? "#6d757d" : data.other;
  if (!isDark()) return color;
  return `rgb(${channels(color).map((v) => Math.round(v + (255 - v) * 0.25)).join(",")})`;
}

function tracePath(context, shape, x, y, r) {
  const points = {
    triangle: [[0, -1.25], [1.1, 0.8], [-1.1, 0.8]],
    down: [[0, 1.25], [1.1, -0.8], [-1.1, -0.8]],
    square: [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
    diamond: [[0, -1.3], [1.1, 0], [0, 1.3], [-1.1, 0]],
    plus: [
      [-0.4, -1.2], [0.4, -1.2], [0.4, -0.4], [1.2, -0.4], [1.2, 0.4], [0.4, 0.4],
      [0.4, 1.2], [-0.4, 1.2], [-0.4, 0.4], [-1.2, 0.4], [-1.2, -0.4], [-0.4, -0.4],
    ],
  }[shape];
  context.beginPath();
  if (!points) context.arc(x, y, r, 0, 2 * Math.PI);
  else points.forEach(([a, b], i) => context[i ? "lineTo" : "moveTo"](x + a * r, y + b * r));
  context.closePath();
}

function shapeIcon(shape, color) {
  const canvas = { path: "" };
  const pen = {
    beginPath() {}, closePath() { canvas.path += "Z"; },
    moveTo(x, y) { canvas.path += `M${x} ${y}`; }, lineTo(x, y) { canvas.path += `L${x} ${y}`; },
    arc(x, y, r) { canvas.path += `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`; },
  };
  tracePath(pen, shape, 7, 7, 5);
  const icon = makeSvg("svg", { width: 14, height: 14, "aria-hidden": "true" });
  icon.append(makeSvg("path", { d: canvas.path, fill: color }));
  return icon;
}

if (data.map) {
  const map = data.map;
  const canvas = byId("map-canvas");
  const legend = byId("map-legend");
  const n = map.rows.length;
  let view = "class";
  let only = null; // a class to show alone
  let at = -1; // the row under the pointer or the keys
  let places = [];
  let drawOrder = [];

  const values = { error: map.errors, strength: map.strengths };
  const limits = {};
  for (const [name, list] of Object.entries(values)) {
    limits[name] = list.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [1, 0]);
  }
  const shareOf = (i) => {
    const [low, high] = limits[view];
    return high > low ? (values[view][i] - low) / (high - low) : 0;
  };
  const isFaded = (i) =>
    (only !== null && map.classes[i] !== only) ||
    (chosen !== null && map.clusters[i] !== chosen);

  function layout() {
    const width = canvas.clientWidth;
    const pad = 14;
    const room = clamp(width * 0.62, 300, 600);
    const scale = Math.min((width - 2 * pad) / map.width, (room - 2 * pad) / map.height);
    const height = Math.max(160, map.height * scale + 2 * pad);
    const left = (width - map.width * scale) / 2;
    const top = (height - map.height * scale) / 2;
    places = map.x.map((x, i) => [left + x * scale, height - top - map.y[i] * scale]);
    return height;
  }

  function draw() {
    const height = layout();
    const context = sharpContext(canvas, height);
    const size = clamp(Math.sqrt((canvas.clientWidth * height) / n) / 5, 1.7, 4.5);
    const key = (i) =>
      (isFaded(i) ? -10 : 0) +
      (view === "class" ? (data.colors[map.classes[i]] ? 1 : 0) : shareOf(i));
    const keys = map.rows.map((_, i) => key(i));
    drawOrder = map.rows.map((_, i) => i).sort((a, b) => keys[a] - keys[b]);
    const anyFaded = only !== null || chosen !== null;
    for (const i of drawOrder) {
      const number = map.classes[i];
      const faded = anyFaded && isFaded(i);
      const own = data.colors[number] || number === only;
      context.globalAlpha = faded ? 0.13 : view === "class" && !own ? 0.45 : 0.85;
      context.fillStyle = view !== "class" ? rampColor(shareOf(i))
        : number === only && !data.colors[number] ? cssColor("mark") : classColor(number);
      const shape = view === "class" ? shapeOf.get(number) || "circle" : "circle";
      const larger = view === "class" && own && colored.length < data.classes.length;
      tracePath(context, shape, places[i][0], places[i][1], larger ? 1.5 * size : size);
      context.fill();
    }
    context.globalAlpha = 1;
    if (at >= 0) {
      context.lineWidth = 2.5;
      context.strokeStyle = cssColor("ink");
      context.beginPath();
      context.arc(places[at][0], places[at][1], size + 5, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  function describe(i) {
    const share = map.agreement[i];
    const lines = [
      `cluster ${map.clusters[i]}`,
      `Bayes error ${percent(map.errors[i])}`,
      `strength ${map.strengths[i].toFixed(3)}`,
    ];
    if (share !== null) lines.push(`${percent(share, 0)} of its neighbors share its label`);
    return [`${className(map.classes[i])}, row ${map.rows[i]}`, lines];
  }

  function point(i, speak) {
    if (i === at) return;
    at = i;
    draw();
    if (i < 0) {
      hideTip();
      return;
    }
    const box = canvas.getBoundingClientRect();
    const [title, lines] = describe(i);
    showTip(box.left + places[i][0], box.top + places[i][1], title, lines,
      pictureOf.get(map.rows[i]));
    if (speak) byId("map-live").textContent = [title, ...lines].join(", ");
  }

  function nearest(x, y, within) {
    let best = -1;
    let least = within * within;
    for (const i of drawOrder) {
      if ((only !== null || chosen !== null) && isFaded(i)) continue;
      const gap = (places[i][0] - x) ** 2 + (places[i][1] - y) ** 2;
      if (gap <= least) [best, least] = [i, gap];
    }
    return best;
  }

  function under(event) {
    const box = canvas.getBoundingClientRect();
    const reach = event.pointerType === "touch" ? 26 : 14;
    return nearest(event.clientX - box.left, event.clientY - box.top, reach);
  }
  canvas.addEventListener("pointermove", (event) => point(under(event), false));
  canvas.addEventListener("pointerdown", (event) => point(under(event), false));
  canvas.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") point(-1, false);
  });
  canvas.addEventListener("blur", () => point(-1, false));
  canvas.addEventListener("dblclick", (event) => {
    const i = under(event);
    choose(i < 0 ? null : map.clusters[i]);
  });
  canvas.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.key === "Enter" && at >= 0) choose(map.clusters[at]);
    if (event.key === "Escape") choose(null);
    if (!way) return;
    event.preventDefault();
    if (at < 0) {
      point(nearest(canvas.clientWidth / 2, canvas.clientHeight / 2, 1e9), true);
      return;
    }
    let best = -1;
    let least = Infinity;
    for (let i = 0; i < n; i += 1) {
      if (i === at || isFaded(i)) continue;
      const [dx, dy] = [places[i][0] - places[at][0], places[i][1] - places[at][1]];
      const ahead = dx * way[0] + dy * way[1];
      const aside = Math.abs(dx * way[1]) + Math.abs(dy * way[0]);
      if (ahead > 0.5 && ahead + 3 * aside < least) [best, least] = [i, ahead + 3 * aside];
    }
    if (best >= 0) point(best, true);
  });

  const select = byId("map-class");
  function alone(number) {
    only = only === number ? null : number;
    select.value = only === null ? "" : String(only);
    drawLegend();
    draw();
  }

  function drawLegend() {
    legend.replaceChildren();
    byId("map-class-pick").hidden = view !== "class" || data.classes.length <= 10;
    if (view !== "class") {
      const [low, high] = limits[view];
      const text = view === "error" ? (v) => percent(v) : (v) => v.toFixed(3);
      const ramp = make("span", { class: "ramp" });
      ramp.style.background = rampGradient();
      legend.append(make("span", {}, text(low)), ramp, make("span", {}, text(high)));
      legend.append(make("span", { class: "small" }, view === "error" ? "estimated Bayes error" : "smoothing strength"));
      return;
    }
    for (const number of colored) {
      const button = make("button", { type: "button", "aria-pressed": only === number });
      button.append(shapeIcon(shapeOf.get(number), classColor(number)), className(number));
      button.addEventListener("click", () => alone(number));
      legend.append(button);
    }
    const others = data.classes.length - colored.length;
    if (others) {
      const rest = make("span", { class: "small" });
      rest.append(shapeIcon("circle", isDark() ? "#6d757d" : data.other), ` ${others} other classes; the ${colored.length} that overlap most have a color`);
      legend.append(rest);
    }
  }

  select.append(make("option", { value: "" }, "all"));
  data.classes.forEach((name, number) => select.append(make("option", { value: number }, name)));
  select.addEventListener("change", () => {
    only = select.value === "" ? null : Number(select.value);
    drawLegend();
    draw();
  });
  for (const radio of document.querySelectorAll("input[name=view]")) {
    radio.checked = radio.value === view; // a reload may remember another choice, which is not drawn
    radio.addEventListener("change", () => {
      view = radio.value;
      if (view !== "class") only = null;
      select.value = "";
      at = -1;
      drawLegend();
      draw();
    });
  }
  onChoice(() => draw());
  drawn(canvas, () => {
    drawLegend();
    draw();
  });
}
