// Small things the other parts share: elements, figures, standings.
const data = JSON.parse(document.getElementById('data').textContent);

/** An element; text only ever enters as text. */
function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? '' : value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) node.append(child);
  return node;
}

/** JSON has no infinity: the record says "inf". */
function number(x) {
  if (x === null || x === undefined) return NaN;
  if (x === 'inf') return Infinity;
  if (x === '-inf') return -Infinity;
  return typeof x === 'number' ? x : NaN;
}

function figure(x, digits = 3) {
  if (x === null || x === undefined) return '–';
  if (typeof x === 'string') return x;
  if (x === 0) return '0';
  const size = Math.abs(x);
  if (Number.isInteger(x) && size < 1e6) return String(x);
  return size < 1e-2 || size >= 1e5 ? x.toExponential(digits - 1) : String(Number(x.toPrecision(digits)));
}

function count(n) {
  return Number(n).toLocaleString('en-US');
}

/** The tone of a standing: data-verdict in the style sheet. */
const tones = {pass: 'pass', fail: 'fail', error: 'error', vacuous: 'finding', unverified: 'finding', excused: 'none', skip: 'none'};
const isFinding = (r) => ['fail', 'error', 'vacuous', 'unverified'].includes(r.standing);
const badge = (standing, text) => el('span', {class: 'badge', 'data-verdict': tones[standing]}, text);

function pairs(list, attributes = {class: 'pairs'}) {
  const dl = el('dl', attributes);
  for (const [what, value] of list)
    if (value !== null && value !== undefined && value !== '') dl.append(el('dt', {}, what), el('dd', {}, value));
  return dl;
}

/** Text in which `plans` stand between backticks, as nodes. */
const marked = (text) => el('span', {}, String(text).split('`').map((part, i, all) => (i % 2 && i + 1 < all.length ? el('code', {}, part) : part)));

const code = (text) => (text ? el('code', {}, text) : null);

function table(headings, rows, caption) {
  const numeric = headings.map((h, i) => rows.some((r) => typeof r[i] === 'number'));
  return el('table', {}, caption ? el('caption', {class: 'hidden'}, caption) : null,
    el('thead', {}, el('tr', {}, headings.map((h, i) => el('th', {scope: 'col', class: numeric[i] ? 'number' : null}, h)))),
    el('tbody', {}, rows.map((r) => el('tr', {}, r.map((x, i) => el('td', {class: numeric[i] ? 'number' : null},
      typeof x === 'number' ? (Number.isInteger(x) ? count(x) : figure(x)) : x))))));
}
