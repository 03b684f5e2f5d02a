"use strict";
const $ = id => document.getElementById(id);
const PAGE = Math.random().toString(36).slice(2);
// Of every plane: which axis its rows and its columns follow.
const ALONG = { z: ["y", "x"], y: ["z", "x"], x: ["y", "z"] };
const COLOURS = { z: "#5aa9e6", y: "#7bc86c", x: "#ef6f6c", line: "#f2c14e" };
const SLOW = 250, COARSE = 200;
const size = {}, pos = {}, panes = {};
let low = 0, high = 1, first = [0, 1], active = "z", tool = "levels", line = null, profile = null, histogram = null, most = 1600;
let stretched = false, busy = 1, drag = null;

const clamp = (v, a, b) => Math.min(Math.max(v, a), b);
const shown = v => Number.isInteger(v) && Math.abs(v) < 1e9 ? String(v) : String(Number(v.toPrecision(6)));
function work(change) { busy += change; document.body.dataset.busy = busy; }

async function ask(name, query, signal) {
  const answer = await fetch(name + "?" + new URLSearchParams(query), { signal, credentials: "omit" });
  if (answer.ok) { $("status").textContent = ""; return answer; }
  throw new Error((await answer.json()).error);
}
function failed(error) {
  if (error.name === "AbortError") return;
  $("status").textContent = error instanceof TypeError ? "The program that shows this volume has ended." : error.message;
}
// One question at a time of each kind, and of those that wait only the last.
function latest(job) {
  let running = false, next = null;
  return async (...args) => {
    next = args;
    if (running) return;
    running = true; work(1);
    try { while (next) { const now = next; next = null; await job(...now); } } catch (error) { failed(error); }
    finally { running = false; work(-1); }
  };
}

// -- planes ------------------------------------------------------------------------------------------------------------------
function makePane(section) {
  const axis = section.dataset.axis, canvas = section.querySelector("canvas"), [down, right] = ALONG[axis];
  const p = { axis, section, canvas, rows: size[down], columns: size[right], image: null, view: null, running: false, slow: 0 };
  canvas.setAttribute("aria-label", `plane across ${axis}`);
  const bar = section.querySelector(".bar"), make = (tag, more) => Object.assign(document.createElement(tag), more);
  p.number = make("input", { type: "number", min: 0, max: size[axis] - 1, ariaLabel: `${axis} of the plane` });
  p.range = make("input", { type: "range", min: 0, max: size[axis] - 1, ariaLabel: `${axis} of the plane` });
  p.note = make("span", {});
  bar.append(make("b", { textContent: axis }), p.number, p.range, make("span", { textContent: `of ${size[axis]}` }), p.note);
  p.number.onchange = () => go({ [axis]: p.number.valueAsNumber || 0 });
  p.range.oninput = () => go({ [axis]: p.range.valueAsNumber });
  for (const event of ["pointerdown", "pointermove", "pointerup", "pointercancel", "pointerleave", "wheel", "dblclick"])
    canvas.addEventListener(event, e => mouse[event](p, e), { passive: false });
  canvas.onfocus = () => choose(axis);
  canvas.oncontextmenu = e => e.preventDefault();
  canvas.onauxclick = e => e.preventDefault();
  return p;
}
function fit(p) {
  const { clientWidth: w, clientHeight: h } = p.canvas, x = w / p.columns, y = h / p.rows, k = Math.min(x, y);
  return { x: p.columns / 2, y: p.rows / 2, sx: stretched ? x : k, sy: stretched ? y : k };
}
function viewOf(p) { return p.view || fit(p); }
// From the canvas to the plane, where pixel 0 lies between 0 and 1, and back.
function toPlane(p, x, y) {
  const v = viewOf(p);
  return [(y - p.canvas.clientHeight / 2) / v.sy + v.y, (x - p.canvas.clientWidth / 2) / v.sx + v.x];
}
function toCanvas(p, row, column) {
  const v = viewOf(p);
  return [(column - v.x) * v.sx + p.canvas.clientWidth / 2, (row - v.y) * v.sy + p.canvas.clientHeight / 2];
}
function boxOf(p) {
  const [r0, c0] = toPlane(p, 0, 0), [r1, c1] = toPlane(p, p.canvas.clientWidth, p.canvas.clientHeight);
  const top = clamp(Math.floor(r0), 0, p.rows - 1), left = clamp(Math.floor(c0), 0, p.columns - 1);
  return [top, clamp(Math.ceil(r1), top + 1, p.rows), left, clamp(Math.ceil(c1), left + 1, p.columns)];
}
function question(p, side) {
  const pixels = Math.max(p.canvas.clientWidth, p.canvas.clientHeight) * devicePixelRatio;
  return { axis: p.axis, index: pos[p.axis], box: boxOf(p).join(), side: side || clamp(Math.round(pixels), 1, most) };
}
function refresh(...which) {
  for (const axis of which) {
    const p = panes[axis];
    if (!p.canvas.clientWidth) continue;
    p.dirty = true;
    if (!p.running) read(p); else if (performance.now() - p.began > SLOW) p.stop.abort();
  }
}
async function read(p) {
  p.running = true; work(1);
  while (p.dirty) {
    p.dirty = false; p.stop = new AbortController(); p.began = performance.now();
    try {
      const asked = question(p);
      if (p.slow > SLOW && p.last !== asked.axis + asked.index + asked.box) await picture(p, { ...asked, side: COARSE });
      if (p.dirty) continue;
      const start = performance.now();
      await picture(p, asked);
      p.slow = performance.now() - start;
      p.last = asked.axis + asked.index + asked.box;
      if (p.axis === active && !p.dirty) measure(asked);
    } catch (error) { failed(error); }
  }
  p.running = false; work(-1);
}
async function picture(p, asked) {
  const answer = await ask("plane.png", { ...asked, levels: [low, high].join(), page: PAGE }, p.stop.signal);
  if (answer.status === 204) return;
  const numbers = name => answer.headers.get(name).split(",").map(Number), bitmap = await createImageBitmap(await answer.blob());
  if (p.image) p.image.bitmap.close();
  p.image = { bitmap, box: numbers("X-Box"), steps: numbers("X-Steps"), index: asked.index };
  draw(p);
}
function context(canvas) {
  const w = Math.round(canvas.clientWidth * devicePixelRatio), h = Math.round(canvas.clientHeight * devicePixelRatio);
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  const c = canvas.getContext("2d");
  c.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  c.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
  return c;
}
function draw(p) {
  const c = context(p.canvas), image = p.image, [down, right] = ALONG[p.axis], v = viewOf(p);
  if (!p.canvas.clientWidth || !image) return;
  const [top, bottom, left, last] = image.box, [x0, y0] = toCanvas(p, top, left), [x1, y1] = toCanvas(p, bottom, last);
  c.save();
  // The last block may be cut by the end of the plane.
  c.beginPath(); c.rect(x0, y0, x1 - x0, y1 - y0); c.clip();
  c.imageSmoothingEnabled = v.sx * image.steps[1] < 1 || v.sy * image.steps[0] < 1;
  c.imageSmoothingQuality = "high";
  c.drawImage(image.bitmap, x0, y0, image.bitmap.width * image.steps[1] * v.sx, image.bitmap.height * image.steps[0] * v.sy);
  c.restore();
  const [x, y] = toCanvas(p, pos[down] + 0.5, pos[right] + 0.5);
  c.lineWidth = 1; c.globalAlpha = 0.65;
  stroke(c, COLOURS[right], x, 0, x, p.canvas.clientHeight);
  stroke(c, COLOURS[down], 0, y, p.canvas.clientWidth, y);
  c.globalAlpha = 1;
  if (line && line.axis === p.axis && line.index === pos[p.axis]) {
    const a = toCanvas(p, line.ends[0] + 0.5, line.ends[1] + 0.5), b = toCanvas(p, line.ends[2] + 0.5, line.ends[3] + 0.5);
    c.lineWidth = 2; stroke(c, COLOURS.line, ...a, ...b);
    c.fillStyle = COLOURS.line; c.beginPath(); c.arc(...a, 3.5, 0, 7); c.fill();
  }
  const [every, other] = image.steps;
  p.note.textContent = every * other > 1 ? `1 pixel: ${every} × ${other}` : "every pixel";
  p.canvas.dataset.index = image.index;
}
function stroke(c, colour, x0, y0, x1, y1) {
  c.strokeStyle = colour; c.beginPath(); c.moveTo(x0, y0); c.lineTo(x1, y1); c.stroke();
}

// -- places and levels -------------------------------------------------------------------------------------------------------
function go(to) {
  const moved = Object.keys(to).filter(axis => (to[axis] = clamp(Math.round(to[axis]), 0, size[axis] - 1)) !== pos[axis]);
  Object.assign(pos, to);
  place();
  refresh(...moved);
}
function place() {
  for (const p of Object.values(panes)) {
    p.number.value = pos[p.axis]; p.range.value = pos[p.axis];
    draw(p);
  }
  look(pos);
}
const look = latest(async at => {
  const answer = await (await ask("value", { z: at.z, y: at.y, x: at.x })).json();
  $("place").textContent = size.z > 1 ? `z ${at.z}  y ${at.y}  x ${at.x}` : `y ${at.y}  x ${at.x}`;
  $("value").textContent = answer.value === null ? answer.word : shown(answer.value);
});
function level(a, b) {
  if (!Number.isFinite(a) || !Number.isFinite(b) || a === b) { $("low").value = low; $("high").value = high; return; }
  low = a; high = b;
  $("low").value = Number(low.toPrecision(6)); $("high").value = Number(high.toPrecision(6));
  drawHistogram();
  refresh("z", "y", "x");
}
function choose(axis) {
  active = axis;
  for (const p of Object.values(panes)) p.section.classList.toggle("active", p.axis === axis);
  if (panes[axis].image) measure(question(panes[axis]));
}
function pick(name) {
  tool = name;
  for (const one of ["levels", "profile", "move"]) $("tool-" + one).ariaPressed = String(one === name);
}
function layout(name) {
  document.body.dataset.layout = name;
  all();
}
function all() { for (const p of Object.values(panes)) draw(p); drawHistogram(); drawProfile(); refresh("z", "y", "x"); }
function zoom(p, factor, x, y) {
  const v = { ...viewOf(p) }, [row, column] = toPlane(p, x, y), least = Math.min(fit(p).sx, fit(p).sy);
  factor = clamp(Math.min(v.sx, v.sy) * factor, least, 64) / Math.min(v.sx, v.sy);
  v.sx *= factor; v.sy *= factor;
  v.x = column - (x - p.canvas.clientWidth / 2) / v.sx; v.y = row - (y - p.canvas.clientHeight / 2) / v.sy;
  p.view = v; draw(p); refresh(p.axis);
}

// -- mouse -------------------------------------------------------------------------------------------------------------------
const ends = (p, x, y) => {
  const [row, column] = toPlane(p, x, y);
  return [clamp(row - 0.5, 0, p.rows - 1), clamp(column - 0.5, 0, p.columns - 1)];
};
const mouse = {
  pointerdown(p, e) {
    e.preventDefault(); p.canvas.focus({ preventScroll: true }); p.canvas.setPointerCapture(e.pointerId);
    const kind = e.button === 1 ? "move" : e.shiftKey || e.button === 2 ? "profile" : tool;
    drag = { p, kind, x: e.offsetX, y: e.offsetY, low, high, view: { ...viewOf(p) }, moved: false };
  },
  pointermove(p, e) {
    if (!drag) {
      const [row, column] = toPlane(p, e.offsetX, e.offsetY).map(Math.floor), [down, right] = ALONG[p.axis];
      if (row >= 0 && column >= 0 && row < p.rows && column < p.columns) look({ ...pos, [down]: row, [right]: column });
      return;
    }
    const dx = e.offsetX - drag.x, dy = e.offsetY - drag.y;
    if (!drag.moved && Math.hypot(dx, dy) < 4) return;
    drag.moved = true;
    if (drag.kind === "levels") {
      const wide = drag.high - drag.low, middle = (drag.low + drag.high) / 2 + wide * dy / 300, half = wide * Math.exp(dx / 200) / 2;
      level(middle - half, middle + half);
    } else if (drag.kind === "move") {
      const v = drag.view;
      p.view = { ...v, x: v.x - dx / v.sx, y: v.y - dy / v.sy };
      draw(p); refresh(p.axis);
    } else {
      line = { axis: p.axis, index: pos[p.axis], ends: [...ends(p, drag.x, drag.y), ...ends(p, e.offsetX, e.offsetY)] };
      draw(p); follow();
    }
  },
  pointerup(p, e) {
    if (drag && !drag.moved && e.button === 0) {
      const [row, column] = toPlane(p, e.offsetX, e.offsetY), [down, right] = ALONG[p.axis];
      if (row >= 0 && column >= 0 && row < p.rows && column < p.columns) go({ [down]: Math.floor(row), [right]: Math.floor(column) });
    }
    drag = null;
  },
  pointercancel() { drag = null; },
  pointerleave() { if (!drag) look(pos); },
  wheel(p, e) {
    e.preventDefault(); choose(p.axis);
    if (e.ctrlKey || e.metaKey) { zoom(p, Math.exp(-e.deltaY / 300), e.offsetX, e.offsetY); return; }
    // Touchpads send many small steps, wheels few large ones.
    p.turned = (p.turned || 0) + (e.deltaMode ? 100 * e.deltaY : e.deltaY || e.deltaX);
    const steps = Math.trunc(p.turned / 50);
    if (steps) { p.turned = 0; go({ [p.axis]: pos[p.axis] + Math.sign(steps) * Math.max(1, Math.round(Math.abs(steps) / 2)) }); }
  },
  dblclick(p) { p.view = null; draw(p); refresh(p.axis); },
};

// -- histogram and profile ---------------------------------------------------------------------------------------------------
const measure = latest(async asked => {
  histogram = { ...await (await ask("histogram", asked)).json(), axis: asked.axis, index: asked.index };
  drawHistogram();
});
function drawHistogram() {
  const canvas = $("histogram"), c = context(canvas), w = canvas.clientWidth, h = canvas.clientHeight;
  if (!histogram) return;
  const { counts, bounds: [a, b], lost } = histogram, top = Math.log1p(Math.max(...counts, 1)), n = counts.length;
  c.fillStyle = "#9fb3c8";
  counts.forEach((count, i) => { const y = Math.log1p(count) / top * (h - 4); c.fillRect(i * w / n, h - y, w / n + 0.3, y); });
  for (const [value, colour] of [[low, "#000"], [high, "#fff"]]) {
    const x = clamp((value - a) / (b - a) * w, 1, w - 1);
    c.lineWidth = 3; stroke(c, COLOURS.line, x, 0, x, h); c.lineWidth = 1; stroke(c, colour, x, 0, x, h);
  }
  const said = histogram.least === undefined ? "no numbers"
    : `${shown(histogram.least)} to ${shown(histogram.most)}, mean ${shown(histogram.mean)}` + (lost ? `, ${lost} not finite` : "");
  $("histogram-title").textContent = `Histogram of ${histogram.axis} = ${histogram.index}: ${said}`;
}
const follow = latest(async () => {
  if (!line) return;
  const asked = line, answer = await (await ask("line", { axis: asked.axis, index: asked.index, ends: asked.ends.join() })).json();
  profile = { ...answer, line: asked };
  drawProfile();
});
function drawProfile() {
  const canvas = $("profile"), c = context(canvas), w = canvas.clientWidth, h = canvas.clientHeight;
  if (!profile) { $("profile-title").textContent = "Profile: draw a line with Shift and the mouse"; return; }
  const { values, length, line: { axis, index } } = profile, known = values.filter(v => v !== null);
  const least = known.reduce((a, b) => Math.min(a, b), Infinity), top = known.reduce((a, b) => Math.max(a, b), -Infinity);
  const y = v => h - 6 - (top > least ? (v - least) / (top - least) : 0.5) * (h - 12);
  c.strokeStyle = COLOURS.line; c.lineWidth = 1.5; c.beginPath();
  let pen = false;
  values.forEach((v, i) => {
    if (v === null) { pen = false; return; }
    const x = values.length > 1 ? i / (values.length - 1) * w : w / 2;
    if (pen) c.lineTo(x, y(v)); else c.moveTo(x, y(v));
    pen = true;
  });
  c.stroke();
  const said = known.length ? `${shown(least)} to ${shown(top)}` : "no numbers";
  $("profile-title").textContent = `Profile in ${axis} = ${index}: ${length.toFixed(1)} pixels, ${said}`;
}
function unline() {
  line = profile = null;
  for (const p of Object.values(panes)) draw(p);
  drawProfile();
}

// -- keys --------------------------------------------------------------------------------------------------------------------
const step = by => go({ [active]: pos[active] + by });
const middle = (p, factor) => zoom(p, factor, p.canvas.clientWidth / 2, p.canvas.clientHeight / 2);
const guess = () => { if (histogram) level(...histogram.levels); };
const whole = () => { if (histogram) level(...histogram.bounds); };
const keys = {
  ArrowUp: () => step(1), ArrowRight: () => step(1), ArrowDown: () => step(-1), ArrowLeft: () => step(-1),
  PageUp: () => step(10), PageDown: () => step(-10), Home: () => go({ [active]: 0 }), End: () => go({ [active]: size[active] - 1 }),
  1: () => panes.z.canvas.focus(), 2: () => panes.y.canvas.focus(), 3: () => panes.x.canvas.focus(),
  "+": () => middle(panes[active], 1.5), "=": () => middle(panes[active], 1.5), "-": () => middle(panes[active], 1 / 1.5),
  0: () => mouse.dblclick(panes[active]), a: guess, f: whole, i: () => level(high, low),
  l: () => pick("levels"), p: () => pick("profile"), v: () => pick("move"),
  m: () => { if (size.z > 1) layout(document.body.dataset.layout === "one" ? "three" : "one"); },
  s: () => { stretched = !stretched; for (const p of Object.values(panes)) p.view = null; all(); },
  Escape: unline, "?": () => $("help").showModal(),
};
addEventListener("keydown", e => {
  if (e.ctrlKey || e.altKey || e.metaKey || $("help").open || e.target.matches("input")) return;
  const job = keys[e.key.length === 1 ? e.key.toLowerCase() : e.key];
  if (job) { e.preventDefault(); job(); }
});

// -- start -------------------------------------------------------------------------------------------------------------------
async function start() {
  const volume = await (await ask("about", {})).json();
  const axes = ["z", "y", "x"];
  axes.forEach((axis, i) => { size[axis] = volume.shape[i]; pos[axis] = volume.start[i]; });
  most = volume.side;
  document.title = `${volume.name} - footprint view`;
  $("name").textContent = volume.name;
  $("facts").textContent = `${volume.shape.slice(size.z > 1 ? 0 : 1).join(" × ")} ${volume.dtype}`;
  for (const [name, value] of volume.about) {
    const row = $("about").querySelector("tbody").insertRow(), head = document.createElement("th");
    head.textContent = name; row.append(head); row.insertCell().textContent = value;
  }
  for (const section of document.querySelectorAll(".pane")) panes[section.dataset.axis] = makePane(section);
  for (const one of ["levels", "profile", "move"]) $("tool-" + one).onclick = () => pick(one);
  $("auto").onclick = guess; $("full").onclick = whole; $("invert").onclick = () => level(high, low);
  $("low").onchange = $("high").onchange = () => level($("low").valueAsNumber, $("high").valueAsNumber);
  $("help-open").onclick = () => $("help").showModal();
  const bars = $("histogram");
  const pull = e => {
    const [a, b] = histogram.bounds, value = a + clamp(e.offsetX / bars.clientWidth, 0, 1) * (b - a);
    if (drag === "low") level(value, high); else level(low, value);
  };
  bars.onpointerdown = e => {
    if (!histogram) return;
    const [a, b] = histogram.bounds, value = a + e.offsetX / bars.clientWidth * (b - a);
    drag = Math.abs(value - low) < Math.abs(value - high) ? "low" : "high";
    bars.setPointerCapture(e.pointerId); pull(e);
  };
  bars.onpointermove = e => { if (drag === "low" || drag === "high") pull(e); };
  bars.onpointerup = bars.onpointercancel = () => { drag = null; };
  document.body.dataset.layout = size.z > 1 ? "three" : "flat";
  choose("z");
  place();
  level(...volume.levels);
  new ResizeObserver(all).observe(document.querySelector("main"));
}
start().catch(failed).finally(() => work(-1));
