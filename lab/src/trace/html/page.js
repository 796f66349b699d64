"use strict";
// Times are in microseconds, relative to the trace's 0. `view` is what the drawing shows of them.
const data = JSON.parse(document.getElementById("data").textContent);
const FATES = ["under way", "received", "waits: its receiver is suspended", "not heard", "lost", "cut"];
const STATES = ["down", "seeking", "slave", "master"];
const LEFT = 86, TOP = 8, AXIS = 34, LANE = 17;
// The shortest time that fills the drawing.
const LEAST_VIEW = 5;
// With more arrows in view than this, a tick at its sender stands for each message.
const MOST_ARROWS = 30000;
const canvas = document.getElementById("canvas");
const pen = canvas.getContext("2d");
const tip = document.getElementById("tip");
const clamp = (value, least, most) => Math.min(Math.max(value, least), most);
const whole = Math.max(data.to - data.from, LEAST_VIEW);
const view = { from: data.from, to: data.from + whole };
const shown = {
  kinds: data.kinds.map((kind) => kind.shown),
  marks: data.mark_kinds.map((name) => name !== "report"),
  nodes: data.nodes.map((node) => node.shown),
  text: "",
};
let cursor = clamp(0, data.from, data.to);
let held = false;
let near = null;
let drag = null;

// Shows so much of the drawing, from a moment on: never less than LEAST_VIEW or more than there is.
function look(from, length) {
  const span = clamp(length, LEAST_VIEW, whole);
  view.from = clamp(from, data.from, data.from + whole - span);
  view.to = view.from + span;
}
// What the address says after #: t, from and to in milliseconds. What is no number, and an end
// before the beginning, does not count.
const address = new URLSearchParams(location.hash.slice(1));
function given(key, otherwise) {
  const text = address.get(key), time = Number(text) * 1000;
  return text && Number.isFinite(time) ? clamp(time, data.from, data.from + whole) : otherwise;
}
{
  const from = given("from", view.from), to = given("to", view.to);
  if (from <= to) look(from, to - from);
  held = given("t", null) !== null;
  cursor = given("t", cursor);
}

const byNode = (list) => {
  const all = data.nodes.map(() => []);
  for (const item of list) all[item[1]].push(item);
  return all;
};
const statesOf = byNode(data.states);
const detailsOf = byNode(data.details);
const longest = data.arrows.reduce((most, [message, , , arrival]) =>
  arrival === null ? most : Math.max(most, arrival - data.messages[message][0]), 1);
const usual = (() => {
  const times = data.arrows.filter((arrow) => arrow[3] !== null)
    .map((arrow) => arrow[3] - data.messages[arrow[0]][0]).sort((a, b) => a - b);
  return times[times.length >> 1] ?? 500;
})();
// The arrows are in the order in which their messages were sent, but for those of links.
const arrows = data.arrows.map((arrow) => ({
  message: arrow[0], from: data.messages[arrow[0]][1], to: arrow[1], fate: arrow[2],
  sent: data.messages[arrow[0]][0], arrival: arrow[3], kind: data.messages[arrow[0]][2],
})).sort((a, b) => a.sent - b.sent);
const searchable = data.messages.map((message) =>
  `${data.kinds[message[2]].name} ${data.texts[message[3]]}`.toLowerCase());
const lanes = (() => {
  const ends = [];
  return data.bands.filter((band) => band[2] === null).map((band) => {
    let lane = ends.findIndex((end) => end <= band[0]);
    if (lane < 0) lane = ends.length;
    ends[lane] = band[1] ?? Infinity;
    return { band, lane };
  });
})();
const laneCount = lanes.reduce((most, { lane }) => Math.max(most, lane + 1), 0);

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const ms = (time) => `${(time / 1000).toFixed(3)} ms`;
const width = () => canvas.clientWidth - LEFT - 12;
const x = (time) => LEFT + (time - view.from) / (view.to - view.from) * width();
const timeAt = (at) => view.from + (at - LEFT) / width() * (view.to - view.from);
const rows = () => data.nodes.map((_, node) => node).filter((node) => shown.nodes[node]);
function places() {
  const all = rows(), top = TOP + laneCount * LANE;
  const step = (canvas.clientHeight - top - AXIS) / Math.max(all.length, 1);
  const at = new Array(data.nodes.length).fill(null);
  all.forEach((node, row) => { at[node] = top + step * (row + 0.5); });
  return { at, step };
}
function latest(list, time) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle][0] <= time) low = middle + 1; else high = middle;
  }
  return list[low - 1];
}
const isShown = (arrow) => shown.kinds[arrow.kind] && shown.nodes[arrow.from] && shown.nodes[arrow.to]
  && (!shown.text || searchable[arrow.message].includes(shown.text));
function visible() {
  let low = 0, high = arrows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (arrows[middle].sent < view.from - longest) low = middle + 1; else high = middle;
  }
  const found = [];
  for (let at = low; at < arrows.length && arrows[at].sent <= view.to; at++) {
    if (isShown(arrows[at])) found.push(arrows[at]);
  }
  return found;
}

let ends = [];
function draw() {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(canvas.clientWidth * scale);
  canvas.height = Math.round(canvas.clientHeight * scale);
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  const ink = { ink: css("--ink"), soft: css("--soft"), grid: css("--grid"), lost: css("--lost"),
    fault: css("--fault"), states: STATES.map((name) => css(`--${name}`)) };
  const { at, step } = places(), bottom = canvas.clientHeight - AXIS, right = LEFT + width();
  pen.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
  pen.font = "11px system-ui, sans-serif";
  drawAxis(ink, bottom, right);
  pen.save();
  pen.beginPath();
  pen.rect(LEFT, 0, width(), bottom);
  pen.clip();
  drawBands(ink, at, step, bottom);
  drawStates(ink, at, step);
  drawArrows(ink, at, step);
  drawMarks(ink, at);
  pen.restore();
  pen.textAlign = "right";
  for (const node of rows()) {
    pen.fillStyle = ink.ink;
    pen.font = step > 16 ? "600 13px system-ui, sans-serif" : "10px system-ui, sans-serif";
    pen.fillText(data.nodes[node].name, LEFT - 10, at[node] + 4);
    if (step > 40) {
      pen.fillStyle = ink.soft;
      pen.font = "10px system-ui, sans-serif";
      pen.fillText(data.nodes[node].address, LEFT - 10, at[node] + 17);
    }
  }
  pen.strokeStyle = ink.ink;
  pen.lineWidth = held ? 1.5 : 0.75;
  pen.beginPath();
  if (x(cursor) >= LEFT) { pen.moveTo(x(cursor), 0); pen.lineTo(x(cursor), bottom); }
  pen.stroke();
}
function drawAxis(ink, bottom, right) {
  const rough = (view.to - view.from) / Math.max(width() / 110, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  pen.textAlign = "center";
  pen.lineWidth = 1;
  for (let time = Math.ceil(view.from / step) * step; time <= view.to; time += step) {
    pen.strokeStyle = Math.abs(time) < step / 10 ? ink.soft : ink.grid;
    pen.beginPath(); pen.moveTo(x(time), TOP); pen.lineTo(x(time), bottom); pen.stroke();
    pen.fillStyle = ink.soft;
    const digits = Math.max(0, 3 - Math.floor(Math.log10(step) + 1e-9));
    pen.fillText((time / 1000).toFixed(step >= 1000 ? 0 : digits), x(time), bottom + 15);
  }
  pen.textAlign = "right";
  pen.fillText("time in ms", right, bottom + 29);
}
function drawBands(ink, at, step, bottom) {
  pen.textAlign = "left";
  for (const { band: [from, to, , what], lane } of lanes) {
    const left = x(from), end = to === null ? LEFT + width() : x(to);
    if (end < LEFT || left > LEFT + width()) continue;
    pen.fillStyle = ink.fault;
    pen.fillRect(left, TOP + lane * LANE, end - left, bottom - TOP - lane * LANE);
    pen.fillRect(left, TOP + lane * LANE, end - left, LANE - 3);
    pen.fillStyle = ink.lost;
    pen.fillText(data.texts[what], Math.max(left, LEFT) + 4, TOP + lane * LANE + 11);
  }
  for (const [from, to, node, what] of data.bands) {
    if (node === null || at[node] === null) continue;
    const left = x(from), end = to === null ? LEFT + width() : x(to);
    if (end < LEFT || left > LEFT + width()) continue;
    pen.fillStyle = ink.lost;
    pen.fillRect(left, at[node] + 6, end - left, 3);
    if (step > 30) pen.fillText(data.texts[what], Math.max(left, LEFT) + 3, at[node] + 20);
  }
}
function drawStates(ink, at, step) {
  const thick = step > 16 ? 9 : 5;
  pen.textAlign = "left";
  for (const node of rows()) {
    const mine = statesOf[node];
    mine.forEach((state, place) => {
      const from = Math.max(x(state[0]), LEFT);
      const to = place + 1 < mine.length ? x(mine[place + 1][0]) : x(data.to);
      if (to <= from || from > LEFT + width()) return;
      pen.fillStyle = ink.states[state[2]];
      const slim = state[2] === 0 ? 1 : thick;
      pen.fillRect(from, at[node] - slim / 2, to - from, slim);
      const text = state[3] === null ? STATES[state[2]] : `slave of ${state[3]}`;
      if (step > 30 && to - from > pen.measureText(text).width + 8) {
        pen.fillStyle = ink.soft;
        pen.fillText(text, from + 3, at[node] - thick / 2 - 3);
      }
    });
  }
}
function drawArrows(ink, at, step) {
  const all = visible(), thick = step > 16 ? 4.5 : 2.5;
  ends = [];
  if (all.length > MOST_ARROWS) {
    for (const arrow of all) {
      pen.fillStyle = data.kinds[arrow.kind].colour;
      pen.fillRect(x(arrow.sent), at[arrow.from] + thick + 1, 1, 5);
    }
    return;
  }
  for (const arrow of all) {
    const down = Math.sign(at[arrow.to] - at[arrow.from]);
    const from = [x(arrow.sent), at[arrow.from] + down * thick];
    let to = [x(arrow.arrival ?? arrow.sent + usual), at[arrow.to] - down * thick];
    const isOver = arrow.fate >= 3;
    const share = arrow.fate === 4 ? 0.5 : arrow.fate === 5 ? 0.3 : 1;
    to = [from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share];
    const isNear = near && near.arrow && near.arrow.message === arrow.message;
    pen.strokeStyle = pen.fillStyle = data.kinds[arrow.kind].colour;
    pen.lineWidth = isNear ? 3 : 1.2;
    pen.setLineDash(isOver ? [4, 3] : []);
    pen.beginPath(); pen.moveTo(...from); pen.lineTo(...to); pen.stroke();
    pen.setLineDash([]);
    if (isOver) {
      pen.strokeStyle = arrow.fate === 5 ? ink.soft : ink.lost;
      pen.lineWidth = 1.8;
      pen.beginPath();
      pen.moveTo(to[0] - 4, to[1] - 4); pen.lineTo(to[0] + 4, to[1] + 4);
      pen.moveTo(to[0] - 4, to[1] + 4); pen.lineTo(to[0] + 4, to[1] - 4);
      pen.stroke();
    } else {
      const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
      pen.beginPath();
      pen.moveTo(...to);
      pen.lineTo(to[0] - 8 * Math.cos(angle - 0.35), to[1] - 8 * Math.sin(angle - 0.35));
      pen.lineTo(to[0] - 8 * Math.cos(angle + 0.35), to[1] - 8 * Math.sin(angle + 0.35));
      pen.fill();
    }
    ends.push({ arrow, from, to });
  }
}
function drawMarks(ink, at) {
  for (const [time, node, kind] of data.marks) {
    if (!shown.marks[kind] || at[node] === null || time < view.from || time > view.to) continue;
    const name = data.mark_kinds[kind], left = x(time), y = at[node];
    pen.strokeStyle = ink.ink;
    pen.lineWidth = 1;
    pen.beginPath();
    if (name === "button pressed") {
      pen.fillStyle = ink.ink;
      pen.moveTo(left, y); pen.lineTo(left - 5, y - 9); pen.lineTo(left + 5, y - 9); pen.fill();
    } else if (name === "call served") {
      pen.lineWidth = 2.4;
      pen.moveTo(left - 5, y - 1); pen.lineTo(left - 1, y + 4); pen.lineTo(left + 5, y - 6);
      pen.stroke();
    } else if (name === "lamp on" || name === "lamp off") {
      pen.fillStyle = name === "lamp on" ? "#ffd400" : "#fff";
      pen.arc(left, y, 4, 0, 7); pen.fill(); pen.stroke();
    } else {
      pen.fillStyle = name === "link up" ? ink.ink : name === "report" ? ink.soft : ink.lost;
      pen.rect(left - 1, y - 4, 2, 8); pen.fill();
    }
  }
}

function element(name, text, parent) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}
function showStates() {
  document.getElementById("time").textContent = ms(cursor);
  const body = document.getElementById("states");
  body.replaceChildren();
  for (const node of rows()) {
    const line = element("tr", "", body);
    const state = latest(statesOf[node], cursor), detail = latest(detailsOf[node], cursor);
    element("td", data.nodes[node].name, line);
    const cell = element("td", "", line);
    const dot = element("span", "", cell);
    dot.className = "dot";
    dot.style.background = css(`--${STATES[state ? state[2] : 0]}`);
    cell.append(!state ? "down" : state[3] === null ? STATES[state[2]] : `slave of ${state[3]}`);
    element("td", state ? String(state[4]) : "", line);
    element("td", state && state[2] > 0 && detail ? data.texts[detail[2]] : "", line);
  }
}
function find(at) {
  const { at: lines } = places();
  let best = { distance: 7 };
  for (const { arrow, from, to } of ends) {
    const along = [to[0] - from[0], to[1] - from[1]];
    const length = along[0] ** 2 + along[1] ** 2 || 1;
    const share = clamp(((at[0] - from[0]) * along[0] + (at[1] - from[1]) * along[1]) / length, 0, 1);
    const distance = Math.hypot(at[0] - from[0] - along[0] * share, at[1] - from[1] - along[1] * share);
    if (distance < best.distance) best = { distance, arrow };
  }
  for (const mark of data.marks) {
    if (!shown.marks[mark[2]] || lines[mark[1]] === null) continue;
    const distance = Math.hypot(at[0] - x(mark[0]), at[1] - lines[mark[1]]) - 1;
    if (distance < best.distance) best = { distance, mark };
  }
  return best.arrow || best.mark ? best : null;
}
function describe({ arrow, mark }) {
  const name = (node) => data.nodes[node].name;
  if (mark) return `${name(mark[1])}: ${data.mark_kinds[mark[2]]}\n${data.texts[mark[3]]}\nat ${ms(mark[0])}`;
  const kind = data.kinds[arrow.kind], says = data.texts[data.messages[arrow.message][3]];
  const lines = [`${name(arrow.from)} → ${name(arrow.to)}: ${kind.name}`];
  if (says) lines.push(says);
  lines.push(`sent at ${ms(arrow.sent)}`);
  lines.push(arrow.arrival === null ? FATES[arrow.fate]
    : `${FATES[arrow.fate]} at ${ms(arrow.arrival)}, after ${ms(arrow.arrival - arrow.sent)}`);
  return lines.join("\n");
}
function point(event) {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}
function zoom(factor, around) {
  const length = clamp((view.to - view.from) * factor, LEAST_VIEW, whole);
  const share = (around - view.from) / (view.to - view.from);
  move(around - share * length, length);
}
function move(from, length) {
  look(from, length);
  draw();
}

canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  if (event.shiftKey) move(view.from + event.deltaY / 800 * (view.to - view.from), view.to - view.from);
  else zoom(1.0015 ** event.deltaY, timeAt(point(event)[0]));
}, { passive: false });
canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  drag = { at: point(event), from: view.from, moved: false };
});
canvas.addEventListener("pointermove", (event) => {
  const at = point(event);
  if (drag) {
    drag.moved ||= Math.abs(at[0] - drag.at[0]) > 3;
    const length = view.to - view.from;
    if (drag.moved) move(drag.from - (at[0] - drag.at[0]) / width() * length, length);
    return;
  }
  if (!held) { cursor = clamp(timeAt(at[0]), data.from, data.to); showStates(); }
  near = find(at);
  tip.hidden = !near;
  if (near) {
    tip.textContent = describe(near);
    tip.style.left = `${Math.min(at[0] + 14, canvas.clientWidth - 300)}px`;
    tip.style.top = `${Math.min(at[1] + 14, canvas.clientHeight - 90)}px`;
  }
  draw();
});
canvas.addEventListener("pointerup", (event) => {
  if (drag && !drag.moved) {
    held = !held;
    cursor = clamp(timeAt(point(event)[0]), data.from, data.to);
    showStates();
  }
  drag = null;
  draw();
});
canvas.addEventListener("pointerleave", () => { tip.hidden = true; near = null; draw(); });
canvas.addEventListener("dblclick", () => move(data.from, data.to - data.from));
canvas.addEventListener("keydown", (event) => {
  const length = view.to - view.from, middle = view.from + length / 2;
  const keys = {
    ArrowLeft: () => move(view.from - length / 8, length),
    ArrowRight: () => move(view.from + length / 8, length),
    "+": () => zoom(0.7, middle), "=": () => zoom(0.7, middle), "-": () => zoom(1.4, middle),
    0: () => move(data.from, data.to - data.from),
    Escape: () => { held = false; draw(); },
  };
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
});
window.addEventListener("resize", draw);

function box(parent, text, colour, list, place) {
  const label = element("label", "", parent), input = element("input", "", label);
  input.type = "checkbox";
  input.checked = list[place];
  if (colour) {
    const dot = element("span", "", label);
    dot.className = "dot";
    dot.style.background = colour;
  }
  label.append(text);
  input.addEventListener("change", () => { list[place] = input.checked; showStates(); draw(); });
}
for (const category of new Set(data.kinds.map((kind) => kind.category))) {
  const group = element("fieldset", "", document.getElementById("kinds"));
  element("legend", category, group);
  data.kinds.forEach((kind, place) => {
    if (kind.category === category) box(group, `${kind.name} (${kind.number})`, kind.colour, shown.kinds, place);
  });
}
data.mark_kinds.forEach((name, place) => {
  const number = data.marks.filter((mark) => mark[2] === place).length;
  if (number) box(document.getElementById("marks"), `${name} (${number})`, "", shown.marks, place);
});
data.nodes.forEach((node, place) => box(document.getElementById("nodes"), node.name, "", shown.nodes, place));
document.getElementById("search").addEventListener("input", (event) => {
  shown.text = event.target.value.trim().toLowerCase();
  draw();
});
document.getElementById("command").textContent = data.command;
if (data.left_out) document.getElementById("left-out").textContent = `${data.left_out} more are not recorded.`;
showStates();
draw();
