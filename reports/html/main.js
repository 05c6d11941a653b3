// Puts the page together.
const tallyList = document.getElementById('tally');
const order = ['fail', 'error', 'unverified', 'vacuous', 'pass', 'excused', 'skip'];  // what needs eyes first
data.tally.sort((x, y) => order.indexOf(x[1]) - order.indexOf(y[1]));
for (const [verdict, standing, n] of data.tally)
  tallyList.append(el('li', {}, badge(standing, count(n) + ' ' + verdict)));
const known = Object.fromEntries(data.environment);
const cases = new Set(data.results.map((r) => r.case)).size;
const recorded = [...new Set(data.results.map((r) => r.captured_on).filter(Boolean))];
document.getElementById('about').textContent = [count(data.results.length) + (data.results.length === 1 ? ' result' : ' results') + ' in ' + count(cases) + (cases === 1 ? ' case' : ' cases'),
  known.device.startsWith('none') ? (recorded.length ? 'recorded on ' + recorded.join(', ') + ', judged without a GPU' : 'no GPU') : known.device, ...['cudnn', 'cublas'].filter((k) => known[k]).map((k) => k + ' ' + known[k]), known.started].filter(Boolean).join(' · ');
document.getElementById('environment').append(...pairs(data.environment).childNodes);
overview(document.getElementById('overview'), data.results, choose);
startTable();
data.explanations.forEach((e, i) => document.getElementById('explanations').append(explanation(e, i)));
data.drifts.forEach((c, i) => drift(document.getElementById('drifts'), c, i));
data.self_tests.forEach((t, i) => document.getElementById('self-tests').append(selfTest(t, i)));
document.documentElement.dataset.ready = 'yes';
