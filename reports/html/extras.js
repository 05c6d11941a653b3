// Explanations, drift and the self-test, where they were given to the report.
function side(s) {
  const standing = ['identical', 'explained', 'bounded'].includes(s.verdict) ? 'pass' : 'fail';
  return el('div', {}, el('h3', {}, s.who), pairs([
    ['verdict', badge(standing, s.verdict)], ['because', marked(s.why)], ['plan', code(s.plan)], ['operands', s.operands],
    ['largest error', figure(s.max_abs) + ', bound ' + figure(s.bound) + ', ' + figure(s.headroom) + ' of it'],
    ['mean error', figure(s.mean_abs) + ', signed ' + figure(s.mean_signed)], ['ULP', 'median ' + figure(s.p50_ulp) + ', 99.9 % ' + figure(s.p999_ulp)],
  ]), s.ladder.length ? [el('h3', {}, 'Ladder of causes, ' + s.who.toLowerCase()), ladder(s.ladder, 'Ladder of causes, ' + s.who.toLowerCase())] : null);
}

function explanation(e, i) {
  const id = 'explanation-' + i;
  const section = el('section', {'aria-labelledby': id}, el('h2', {id}, 'Why they differ, ' + e.name.split('/').pop() + ': ' + e.cause.replaceAll('_', ' ')));
  section.append(...e.summary.split(/\n+/).filter(Boolean).map((line) => el('p', {class: 'sentence'}, marked(line))));
  if (e.pair) section.append(pairs([['largest difference', figure(e.pair.max_abs) + ' (mean ' + figure(e.pair.mean_abs) + ')'],
    ['beyond the tolerance', count(e.pair.violations) + ' of ' + count(e.outputs) + ' outputs, atol ' + figure(e.pair.atol) + ', rtol ' + figure(e.pair.rtol)]]));
  if (e.ladder.length) section.append(el('h3', {}, 'Before any rounding'), ladder(e.ladder, 'What both sides were checked for first'));
  section.append(el('div', {class: 'columns'}, e.sides.map(side)));
  if (e.trees) section.append(el('h3', {}, 'Summation trees'), trees(e.trees, 'candidate', 'reference'));
  return section;
}

function drift(parent, c, i) {
  const id = 'drift-' + i;
  const section = el('section', {'aria-labelledby': id}, el('h2', {id}, 'Drift across orders: ' + c.case), el('p', {}, c.summary));
  parent.append(section);
  driftChart(section, c, null);
}

/** Whether the tool itself may be trusted: what was planted, and what noticed it. */
function selfTest(t, i) {
  const id = 'self-test-' + i;
  const fine = t.planted > 0 && t.caught === t.planted && t.quiet === t.controls;
  const rows = [...t.outcomes].sort((x, y) => x[4] - y[4]);  // what went wrong first
  return el('section', {'aria-labelledby': id}, el('h2', {id}, 'Self-test of the tool'),
    el('p', {}, badge(fine ? 'pass' : 'fail', count(t.caught) + ' of ' + count(t.planted) + ' planted mistakes caught'), ', ' +
      count(t.quiet) + ' of ' + count(t.controls) + ' correct controls left alone.'),
    el('details', {}, el('summary', {}, 'What was planted'), el('div', {class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'What was planted'},
      table(['area', 'planted', 'outcome', 'noticed by'], rows.map(([area, mistake, by, control, good]) => [area, mistake,
        control ? (good ? 'control, left alone' : 'control, BLAMED') : good ? 'caught' : 'MISSED', marked(by)]), 'Planted mistakes'))));
}
