// Why one result is what it is: the ladder of causes, the other results of its case, the trees, the drift.
const causes = {
  none: 'same bits', accumulation_order: 'another order', accumulator: 'another accumulator', candidate_precision: 'this one shortened its operands',
  reference_precision: 'the other shortened its operands', tie_rounding: 'other rounding of the operands', structural: 'a mistake', inputs_differ: 'other inputs',
  nonfinite: 'NaN or infinity', nondeterminism: 'no fixed order', unexplained: 'not explained',
};
const scroller = (label, ...children) => el('div', {class: 'scroll', tabindex: 0, role: 'group', 'aria-label': label}, children);
const percent = (share) => (share === null || share === undefined ? '' : share === 1 ? 'all' : share === 0 ? 'none' : figure(100 * share, 3) + ' %');

/** Rungs as a table; what is confirmed stands out by its weight and its mark, not by colour alone. */
function ladder(rungs, caption) {
  const signs = {confirmed: '✓ ', excluded: '✕ ', 'not tested': '– '};
  const rows = rungs.map((g) => el('tr', {class: g.status === 'confirmed' ? 'confirmed' : null}, el('th', {scope: 'row'}, g.rung),
    el('td', {class: 'status'}, el('span', {'aria-hidden': 'true'}, signs[g.status] || ''), g.status),
    el('td', {class: 'number'}, g.max_residual === null ? '' : figure(g.max_residual)), el('td', {class: 'number'}, percent(g.equal_bits)),
    el('td', {class: 'note'}, marked(g.note))));
  return scroller(caption, el('table', {class: 'ladder'}, el('caption', {class: 'hidden'}, caption), el('thead', {}, el('tr', {},
    ['Cause', 'Status', 'Left over', 'Equal bits', 'What it says'].map((h, i) => el('th', {scope: 'col', class: i === 2 || i === 3 ? 'number' : null}, h)))),
  el('tbody', {}, rows)));
}

function others(parent, r) {
  const e = r.explained;
  if (e.same.length) parent.append(el('p', {}, 'The same bits in all ' + count(r.outputs) + ' outputs: ', e.same.map((name, i) => [i ? ', ' : '', el('b', {}, name)]).flat(), '.'));
  const compared = e.others.filter((o) => o.cause !== 'none' || o.max_abs !== null);
  if (!compared.length) return;
  const measured = compared.some((o) => o.max_abs !== null);
  const rows = compared.map((o) => [o.name, causes[o.cause] || o.cause, ...(measured ? [o.max_abs === null ? '' : o.max_abs, o.mean_abs === null ? '' : o.mean_abs, percent(o.equal),
    o.violations === null ? '' : o.violations] : []), marked(o.why)]);
  parent.append(scroller('Against the other results of this case', table(['Against', 'Cause', ...(measured ? ['Largest difference', 'Mean', 'Equal bits', 'Beyond tolerance'] : []), 'What it says'],
    rows, 'This result against the others of its case')));
}

function trees(t, left, right) {
  const shown = [[left, t.candidate], [right, t.reference]].filter(([, text]) => text);
  return el('div', {}, t.reference || !t.candidate ? el('p', {}, t.difference) : null, el('p', {class: 'hint'}, t.terms),
    el('div', {class: 'columns'}, shown.map(([who, text]) => el('figure', {}, el('figcaption', {}, who),
      el('pre', {tabindex: 0, role: 'group', 'aria-label': 'Summation tree, ' + who}, text)))));
}

/** Every plan a mark, arithmetics one below the other; where this result lies is a line. */
function driftChart(parent, c, observed) {
  const rows = c.rows.filter((r) => number(r.max_abs) > 0 && Number.isFinite(number(r.max_abs)));
  if (!rows.length) return;
  const names = [...new Set(rows.map((r) => r.arithmetic))];
  const seen = number(observed) > 0 && Number.isFinite(number(observed)) ? observed : null;
  const all = rows.map((r) => r.max_abs).concat(seen === null ? [] : [seen]);
  const from = 10 ** Math.floor(Math.log10(Math.min(...all))), to = 10 ** Math.ceil(Math.log10(Math.max(...all)) + 1e-9);
  const spread = c.spreads.find((s) => s.orders > 1);
  const canvas = plot(parent, 'Drift: largest error by arithmetic, one mark per order', count(rows.length) + ' plans, from ' + figure(Math.min(...rows.map((r) => r.max_abs))) + ' to ' +
    figure(Math.max(...rows.map((r) => r.max_abs))) + (seen === null ? '.' : '; this result ' + figure(seen) + '.') +
    (spread ? ' ' + spread.orders + ' orders of ' + spread.arithmetic + ' differ by at most ' + figure(spread.observed) + '.' : ''), () => ({
    type: 'scatter',
    data: {datasets: [
      {label: 'replayed plan', data: rows.map((r) => ({x: r.max_abs, y: names.indexOf(r.arithmetic), plan: r.plan})), pointRadius: 4, borderColor: colour('series'), backgroundColor: colour('series') + '88'},
      ...(seen === null ? [] : [{label: 'this result', type: 'line', data: [{x: seen, y: -0.6}, {x: seen, y: names.length - 0.4}], borderColor: colour('series2'), borderDash: [6, 4], borderWidth: 2, pointRadius: 0, pointStyle: 'line'}]),
    ]},
    options: {
      scales: {
        x: axis('largest error', 'logarithmic', {min: from, max: to}),
        y: {min: -0.6, max: names.length - 0.4, reverse: true, grid: {color: colour('grid')}, afterBuildTicks: (a) => { a.ticks = names.map((_, i) => ({value: i})); },
          ticks: {color: colour('soft'), autoSkip: false, callback: (v) => names[v]}},
      },
      plugins: {legend: {position: 'top', align: 'end', labels: {color: colour('ink'), usePointStyle: true}}, tooltip: {callbacks: {label: ({raw}) => (raw.plan ? [raw.plan, 'largest error ' + figure(raw.x)] : 'this result ' + figure(raw.x))}}},
    },
  }), [['arithmetic', 'plan', 'max error', 'mean', 'signed mean', 'bound', 'from the first'],
    c.rows.map((r) => [r.arithmetic, code(r.plan), figure(r.max_abs), figure(r.mean_abs), figure(r.mean_signed), figure(r.bound), figure(r.from_first)])]);
  canvas.parentElement.style.height = 90 + 20 * names.length + 'px';
  Chart.getChart(canvas).resize();
}

function driftOf(parent, c, observed) {
  parent.append(el('h3', {}, 'Drift across orders'), el('p', {}, c.summary));
  driftChart(parent, c, observed);
  const spreads = c.spreads.filter((s) => s.orders > 1);
  if (spreads.length) parent.append(el('details', {}, el('summary', {}, 'What order alone can do, by arithmetic'), scroller('Spread of orders', table(['arithmetic', 'orders', 'largest difference seen', 'no two can differ by more than'],
    spreads.map((s) => [s.arithmetic, s.orders, figure(s.observed), figure(s.bound)]), 'Spread of orders'))));
}

/** The sections of a result's details that say why. */
function why(parent, r) {
  const e = r.explained;
  if (e && e.ladder.length) {
    parent.append(el('h3', {}, 'Ladder of causes'), el('p', {}, 'Against the exact result: ', el('b', {}, causes[e.cause] || e.cause), e.why ? [': ', marked(e.why)] : null, '.'),
      ladder(e.ladder, 'Ladder of causes'), el('p', {class: 'hint'}, 'Roundings of the operands were tried on ' + count(e.outputs) + ' outputs, with an exact sum: “left over” is the largest error that remains. The other rungs and the verdict rest on all judged outputs.'));
  }
  if (e && (e.same.length || e.others.length)) {
    parent.append(el('h3', {}, 'Against the other results of this case'));
    others(parent, r);
  }
  if (e && e.tree !== null) parent.append(el('h3', {}, e.with ? 'Summation trees: where this one and ' + e.with + ' part' : 'Summation tree'), trees(data.trees[e.tree], r.variant + ' (' + r.mode + ')', e.with));
}
