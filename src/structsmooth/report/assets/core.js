// What all parts share. Text goes into the page as text nodes only.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const clusterOf = new Map(data.clusters.map((cluster) => [cluster.id, cluster]));
const pictureOf = new Map(
  [...data.samples, ...data.suspects].filter((s) => s.picture).map((s) => [s.row, s.picture]),
);

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function makeSvg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)}\u00a0%`;
const thousands = (count) =>
  (Number.isInteger(count) ? String(count) : count.toFixed(1)).replace(
    /\B(?=(\d{3})+(?!\d))/g,
    "\u202f",
  );
const plural = (count, one, many) => `${thousands(count)} ${count === 1 ? one : many}`;
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const className = (number) => data.classes[number];

// One cluster can be chosen; every part listens.
const listeners = [];
let chosen = null;
const onChoice = (listener) => listeners.push(listener);

function choose(cluster) {
  chosen = cluster;
  for (const listener of listeners) listener(cluster);
}

for (const select of document.querySelectorAll("[data-clusters]")) {
  select.append(make("option", { value: "" }, "all clusters"));
  for (const cluster of data.clusters) {
    const little = cluster.little ? " (says little)" : "";
    const name = `cluster ${cluster.id}: ${cluster.classes}${little}`;
    select.append(make("option", { value: cluster.id }, name));
  }
  select.addEventListener("change", () =>
    choose(select.value === "" ? null : Number(select.value)),
  );
  onChoice((cluster) => {
    select.value = cluster === null ? "" : String(cluster);
  });
}

for (const chip of document.querySelectorAll("[data-clear]")) {
  chip.addEventListener("click", () => choose(null));
  onChoice((cluster) => {
    chip.hidden = cluster === null;
    chip.textContent = `cluster ${cluster} ✕`;
    chip.setAttribute("aria-label", `Cluster ${cluster} is chosen; show all clusters again`);
  });
}

// Colors from the style sheet, and ramps on which high values stand out.
const ramps = {
  light: ["#cfd8e0", "#9fbfdb", "#5f93c6", "#3d62aa", "#3e2f86", "#2b0f4f"],
  dark: ["#3c4650", "#3d6c8f", "#3f9c98", "#7fc77d", "#d9de6c", "#fff4ac"],
};
const systemDark = window.matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === "dark" : systemDark.matches;
}

const cssColor = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function channels(hex) {
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
}

function rampColor(share) {
  const stops = isDark() ? ramps.dark : ramps.light;
  const place = clamp(share, 0, 1) * (stops.length - 1);
  const low = Math.min(Math.floor(place), stops.length - 2);
  const [from, to] = [channels(stops[low]), channels(stops[low + 1])];
  const mixed = from.map((v, i) => Math.round(v + (to[i] - v) * (place - low)));
  return `rgb(${mixed.join(",")})`;
}

const rampGradient = () =>
  `linear-gradient(90deg, ${(isDark() ? ramps.dark : ramps.light).join(",")})`;

// Everything is drawn again when its size or the theme changes.
const drawings = [];
function drawn(element, draw) {
  drawings.push(draw);
  let width = 0;
  new ResizeObserver(() => {
    if (Math.abs(element.clientWidth - width) < 1) return;
    width = element.clientWidth;
    draw();
  }).observe(element);
}
const drawAll = () => drawings.forEach((draw) => draw());

const themeButton = byId("theme");
function nameTheme() {
  themeButton.textContent = isDark() ? "Light" : "Dark";
  themeButton.setAttribute("aria-label", `Use ${isDark() ? "light" : "dark"} colors`);
}
themeButton.hidden = false;
themeButton.addEventListener("click", () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  nameTheme();
  drawAll();
});
systemDark.addEventListener("change", () => {
  nameTheme();
  drawAll();
});
nameTheme();
// Paper is white.
let themeOfScreen;
window.addEventListener("beforeprint", () => {
  themeOfScreen = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
  drawAll();
});
window.addEventListener("afterprint", () => {
  if (themeOfScreen) document.documentElement.dataset.theme = themeOfScreen;
  else delete document.documentElement.dataset.theme;
  drawAll();
});

// A context that draws in the pixels of the page and is sharp on every screen.
function sharpContext(canvas, height) {
  const ratio = Math.max(window.devicePixelRatio || 1, 2);
  const width = canvas.clientWidth;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

// The only tooltip, beside the pointer or the mark that has the focus.
const tip = byId("tip");
function showTip(x, y, title, lines, picture) {
  tip.replaceChildren();
  if (picture) tip.append(make("img", { src: picture, alt: "" }));
  tip.append(make("strong", {}, title));
  for (const line of lines) tip.append(make("div", {}, line));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const right = x + 16 + width > window.innerWidth - 8;
  const left = right ? x - 16 - width : x + 16;
  tip.style.left = `${clamp(left, 8, Math.max(8, window.innerWidth - width - 8))}px`;
  tip.style.top = `${clamp(y - height / 2, 8, window.innerHeight - height - 8)}px`;
}
const hideTip = () => {
  tip.hidden = true;
};
window.addEventListener("scroll", hideTip, { passive: true });
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hideTip();
});

function clusterLines(cluster) {
  return [
    `${plural(cluster.size, "row", "rows")}: ${cluster.classes}`,
    `Bayes error ${percent(cluster.lower)} (${percent(cluster.interval[0])} to ` +
      `${percent(cluster.interval[1])})`,
    `strength ${cluster.strength.toFixed(3)}`,
    ...cluster.distinctions,
    ...(cluster.little ? ["says little: it has few rows and may be like the others"] : []),
  ];
}

function niceTicks(low, high, most) {
  const span = high - low || 1;
  const raw = span / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * span; i += 1) {
    ticks.push(i * step);
  }
  return { ticks, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}
