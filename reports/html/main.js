// Puts the page together.
const tallyList = document.getElementById('tally');
for (const [verdict, standing, n] of data.tally)
  tallyList.append(el('li', {}, badge(standing, count(n) + ' ' + verdict)));
document.getElementById('environment').append(...pairs(data.environment).childNodes);
overview(document.getElementById('overview'), data.results, choose);
startTable();
data.explanations.forEach((e, i) => document.getElementById('explanations').append(explanation(e, i)));
data.drifts.forEach((c, i) => drift(document.getElementById('drifts'), c, i));
data.self_tests.forEach((t, i) => document.getElementById('self-tests').append(selfTest(t, i)));
document.documentElement.dataset.ready = 'yes';
