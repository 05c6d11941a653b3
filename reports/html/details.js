// What one result is, as far as the record holds it.
function copyButton(text) {
  const button = el('button', {type: 'button', class: 'copy', onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = 'Copied';
    } catch {  // a page opened from a file may not be let at the clipboard
      const range = document.createRange();
      range.selectNodeContents(button.parentElement.querySelector('pre'));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = 'Selected: copy with your keyboard';
    }
  }}, 'Copy');
  return button;
}

function worstWords(w) {
  return 'index ' + count(w.index) + (w.coordinates.length ? ' (' + w.coordinates.join(', ') + ')' : '') + ': result ' + figure(w.candidate, 9) +
    ', exact ' + figure(w.exact, 9) + ', error ' + figure(w.error) + ' (' + figure(w.ulp) + ' ULP), Σ|a·b| ' + figure(w.magnitude) +
    ', condition ' + figure(w.condition) + ', ' + count(w.terms) + ' terms';
}

function bitsWords(r) {
  if (r.bit_identical === null) return null;
  const share = r.bit_identical === 1 ? 'all bits' : figure(100 * r.bit_identical, 6) + ' % of outputs equal in bits';
  return 'replayed on ' + count(r.replayed_outputs) + ' of ' + count(r.outputs) + ' outputs: ' + share +
    (r.whole_output_replayed === null ? '' : r.whole_output_replayed ? '; the hash of the whole output, too' : '; but not the hash of the whole output');
}

/** What a reviewer looks at first stands open; hashes and the like are a step away. */
function facts(parent, r) {
  const judged = r.judged_outputs === r.outputs ? 'all ' + count(r.outputs) : count(r.judged_outputs) + ' of ' + count(r.outputs);
  parent.append(pairs([
    ['because', r.reason], ['case', code(r.case_text)], ['outputs judged', r.executed ? judged : null],
    ['executed', r.executed === 'replay' ? 'replay: a declared plan stood in for a device' : r.captured_on ? r.executed + ' on ' + r.captured_on : r.executed],
    ['declared plan', code(r.declared_plan)], ['plan', r.plan === r.declared_plan ? null : code(r.plan)], ['replay', bitsWords(r)],
    ['two runs', r.runs_identical === null ? null : r.runs_identical ? 'same bits' : 'differ in ' + count(r.runs_differing) + ' outputs'],
    ['largest error', r.max_abs === null ? null : figure(r.max_abs) + ', ' + figure(r.headroom) + ' of its bound' + (r.expected_max === null ? '' : '; expected ' + figure(r.expected_max))],
    ['mean error', r.mean_abs === null ? null : figure(r.mean_abs) + ', signed ' + figure(r.mean_signed)],
    ['tolerance', r.atol === null ? null : 'atol ' + figure(r.atol) + ', rtol ' + figure(r.rtol) + ' against exact: ' + count(r.violations) + ' outputs beyond it'],
    ['bound', r.bound_formula],
  ]));
  parent.append(el('details', {class: 'more'}, el('summary', {}, 'Worst output, ULP, engine, hashes'), pairs([
    ['worst output', r.worst ? worstWords(r.worst) : null],
    ['ULP', r.p50_ulp === null ? null : 'median ' + figure(r.p50_ulp) + ', 99 % ' + figure(r.p99_ulp) + ', 99.9 % ' + figure(r.p999_ulp) + ', largest ' + figure(r.max_ulp)],
    ['scaled', r.max_scaled === null ? null : figure(r.max_scaled) + ' at most'],
    ['correctly rounded', r.max_abs === null ? null : count(r.equal_bits) + ' outputs'],
    ['not finite', r.nonfinite ? count(r.nonfinite) + ' outputs, ' + count(r.nonfinite_mismatch) + ' of another kind than exact' : null],
    ['operands', r.operands], ['engine', r.engine], ['notes', r.notes.join('; ')], ['device time', r.device_ms ? figure(r.device_ms) + ' ms' : null],
    ['source', code(r.source)], ['input hash', code(r.input_hash)], ['output hash', code(r.output_hash)],
  ])));
  if (r.reproduce) parent.append(el('h3', {}, 'Reproduce'), el('div', {class: 'command'}, el('pre', {}, r.reproduce), copyButton(r.reproduce)));
}

function details(parent, r) {
  parent.append(el('h3', {}, r.variant + ' (' + r.mode + ') ', badge(r.standing, r.standing === 'unverified' ? 'unverified' : r.verdict)));
  facts(parent, r);
  why(parent, r);
  if (r.max_abs === null) return;
  parent.append(el('h3', {}, 'Where and how large the errors are'));
  const figures = el('div', {class: 'figures'});
  parent.append(figures);
  expectedAgainstObserved(figures, r);
  if (r.ulp_histogram.length) ulpHistogram(figures, r);
  if (r.position.length) byPlace(figures, 'Error by position: tile seams', 'position modulo ' + r.position.length, r.position.map((_, i) => i), r.position, 'position on the innermost axis modulo ' + r.position.length);
  if (r.terms.length > 1) byPlace(figures, 'Error by number of terms: edges have fewer', 'terms', r.terms.map((t) => count(t[0])), r.terms.map((t) => t[2]), 'terms of the output');
  if (r.channel.length > 1) byPlace(figures, 'Error by channel', r.channels_per_group > 1 ? 'group of ' + r.channels_per_group + ' channels' : 'channel', r.channel.map((_, i) => i), r.channel, r.channels_per_group > 1 ? 'group of ' + r.channels_per_group + ' channels' : 'channel');
  if (r.drift !== null) driftOf(parent, data.case_drifts[r.drift], r.max_abs);
  // Later figures narrowed the earlier ones' columns.
  figures.querySelectorAll('canvas').forEach((canvas) => Chart.getChart(canvas).resize());
  if (!r.ulp_histogram.length && !r.position.length) parent.append(el('p', {class: 'hint'}, 'This record holds no histogram and no positions: a newer `ulpscope run` writes them.'));
}
