// Charts by Chart.js, in the colours of the style sheet; each has a caption, a label and its numbers as a table.
const charts = new Map();  // canvas -> function that makes its chart's configuration

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();

function axis(title, type = 'linear', more = {}) {
  const small = (value) => (type === 'logarithmic' ? (Math.log10(value) % 1 === 0 ? figure(value, 1) : '') : figure(value));
  return {
    type, title: {display: true, text: title, color: colour('soft')}, grid: {color: colour('grid')},
    ticks: type === 'category' ? {color: colour('soft'), maxRotation: 60, autoSkip: true}
                               : {color: colour('soft'), callback: small, maxTicksLimit: 8, maxRotation: 0},
    ...more,
  };
}

function draw(canvas) {
  const old = Chart.getChart(canvas);
  if (old) old.destroy();
  const configuration = charts.get(canvas)();
  configuration.options = {animation: false, responsive: true, maintainAspectRatio: false, ...configuration.options};
  return new Chart(canvas, configuration);
}

/** Charts keep no colours of the other theme, and none that are gone from the page. */
function redrawAll() {
  for (const canvas of charts.keys()) canvas.isConnected ? draw(canvas) : forget(canvas);
}
function forget(canvas) {
  const chart = Chart.getChart(canvas);
  if (chart) chart.destroy();
  charts.delete(canvas);
}
for (const media of ['(prefers-color-scheme: dark)', 'print']) matchMedia(media).addEventListener('change', redrawAll);
// Canvases do not follow the page's width on paper by themselves.
addEventListener('beforeprint', () => charts.forEach((_, canvas) => Chart.getChart(canvas)?.resize()));

/** A figure: `label` says in words what the drawing shows; `numbers` is [headings, rows]. */
function plot(parent, caption, label, configuration, numbers) {
  const canvas = el('canvas', {role: 'img', 'aria-label': caption + '. ' + label});
  const node = el('figure', {}, el('figcaption', {}, caption), el('div', {class: 'plot'}, canvas),
    numbers ? el('details', {}, el('summary', {}, 'Numbers'), el('div', {tabindex: 0, role: 'group', 'aria-label': caption + ', numbers'},
      table(numbers[0], numbers[1], caption))) : null);
  parent.append(node);
  charts.set(canvas, configuration);
  draw(canvas);
  return canvas;
}

function bars(labels, values, x, y, type = 'linear', name = 'series') {
  return () => ({
    type: 'bar',
    data: {labels, datasets: [{data: values.map((v) => (Number.isFinite(v) ? v : null)), backgroundColor: colour(name),
      barPercentage: 1, categoryPercentage: 0.92}]},
    options: {
      scales: {x: axis(x, 'category', {grid: {display: false}}), y: axis(y, type, {beginAtZero: type === 'linear'})},
      plugins: {legend: {display: false}},
    },
  });
}

const marks = {pass: ['pass', 'circle'], fail: ['fail', 'crossRot'], error: ['fail', 'crossRot'], vacuous: ['warn', 'triangle'],
  unverified: ['warn', 'triangle'], excused: ['none', 'rect'], skip: ['none', 'rect']};

// Passes differ by shape, too.
const shapes = {identical: 'rect', explained: 'circle', bounded: 'rectRot'};

/** Largest error against largest bound, one mark per result; `choose` is told which. */
function overview(parent, results, choose) {
  const shown = results.filter((r) => number(r.max_abs) > 0 && Number.isFinite(number(r.max_abs)) && number(r.bound) > 0 && Number.isFinite(number(r.bound)));
  if (!shown.length) {
    parent.append(el('p', {class: 'hint'}, 'No result of this record has both an error and a finite bound.'));
    return;
  }
  const low = Math.min(...shown.map((r) => Math.min(r.max_abs, r.bound)));
  const high = Math.max(...shown.map((r) => Math.max(r.max_abs, r.bound)));
  const from = 10 ** Math.floor(Math.log10(low)), to = 10 ** Math.ceil(Math.log10(high) + 1e-9);
  const verdicts = [...new Set(shown.map((r) => r.verdict))];
  const configuration = () => ({
    type: 'scatter',
    data: {datasets: [
      ...verdicts.map((verdict) => {
        const of = shown.filter((r) => r.verdict === verdict);
        const [name, byStanding] = marks[of[0].standing];
        const style = byStanding === 'circle' ? shapes[verdict] || 'circle' : byStanding;
        return {label: verdict, data: of.map((r) => ({x: r.bound, y: r.max_abs, result: r})), pointStyle: style, pointRadius: style === 'circle' ? 4 : byStanding === 'circle' ? 5 : 7,
          borderColor: colour(name), backgroundColor: colour(name) + '99', borderWidth: 2};
      }),
      {label: 'error = bound', type: 'line', data: [{x: from, y: from}, {x: to, y: to}], borderColor: colour('soft'), borderDash: [6, 5], borderWidth: 1.5, pointRadius: 0, pointStyle: 'line'},
    ]},
    options: {
      scales: {x: axis('largest bound', 'logarithmic', {min: from, max: to}), y: axis('largest error', 'logarithmic', {min: from, max: to})},
      plugins: {
        legend: {position: innerWidth < 700 ? 'top' : 'right', labels: {color: colour('ink'), usePointStyle: true}},
        tooltip: {callbacks: {label: ({raw}) => (raw.result ? [raw.result.variant + ' (' + raw.result.mode + ')', raw.result.case,
          'error ' + figure(raw.y) + ', bound ' + figure(raw.x)] : 'error = bound')}},
      },
      onClick: (event, found) => found.length && found[0].element.$context.raw.result && choose(found[0].element.$context.raw.result),
    },
  });
  const over = shown.filter((r) => r.max_abs > r.bound).length;
  plot(parent, 'Largest error against largest bound', count(shown.length) + ' results, errors from ' +
    figure(Math.min(...shown.map((r) => r.max_abs))) + ' to ' + figure(Math.max(...shown.map((r) => r.max_abs))) + ', ' +
    (over ? count(over) + ' above the line.' : 'none above the line.') + ' The table below holds all figures.', configuration, null);
}

function ulpHistogram(parent, r) {
  const labels = r.ulp_histogram.map(([edge]) => '≤ ' + figure(edge, 2));
  const counts = r.ulp_histogram.map(([, n]) => n);
  plot(parent, 'ULP of the error, histogram', 'Half of the outputs lie below ' + figure(r.p50_ulp) + ' ULP, 99.9 % below ' + figure(r.p999_ulp) + '.',
    bars(labels, counts, '|error| in ULP of the output', 'outputs', 'logarithmic'), [['ULP up to', 'outputs'], r.ulp_histogram.map(([edge, n]) => [figure(edge), n])]);
}

function byPlace(parent, caption, what, labels, values, label) {
  const finite = values.map(number);
  const worst = finite.indexOf(Math.max(...finite));
  plot(parent, caption, 'Largest at ' + what + ' ' + labels[worst] + ': ' + figure(values[worst]) + '.', bars(labels, finite, label, 'largest scaled error'),
    [[what, 'largest scaled error'], labels.map((l, i) => [String(l), figure(values[i])])]);
}

function expectedAgainstObserved(parent, r) {
  const rows = [['observed', r.max_abs], ['expected', r.expected_max], ['bound', r.bound]].filter(([, v]) => number(v) > 0 && Number.isFinite(number(v)));
  if (rows.length < 2) return;
  const least = Math.min(...rows.map(([, v]) => v));
  plot(parent, 'Largest error: observed, expected, bound', rows.map(([what, v]) => what + ' ' + figure(v)).join(', ') + '.', () => {
    const configuration = bars(rows.map(([what]) => what), rows.map(([, v]) => v), '', '')();
    configuration.options = {
      indexAxis: 'y', plugins: {legend: {display: false}},
      scales: {x: axis('largest error', 'logarithmic', {min: 10 ** Math.floor(Math.log10(least) - 0.5)}), y: axis('', 'category', {title: {display: false}, grid: {display: false}})},
    };
    configuration.data.datasets[0].backgroundColor = rows.map(([what]) => colour(what === 'bound' ? 'none' : what === 'expected' ? 'series2' : 'series'));
    return configuration;
  }, [['what', 'largest error'], rows.map(([what, v]) => [what, figure(v)])]);
}
