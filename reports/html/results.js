// The table of results: sorted, filtered, shown a page at a time; details are made when a row is opened.
const columns = [
  {name: 'Variant', key: 'variant'}, {name: 'Case', key: 'case'}, {name: 'Mode', key: 'mode'},
  {name: 'Verdict', key: 'verdict'},
  {name: 'Max error', key: 'max_abs', numeric: true}, {name: 'Bound', key: 'bound', numeric: true},
  {name: 'Of bound', key: 'headroom', numeric: true}, {name: 'Mean error', key: 'mean_abs', numeric: true},
  {name: 'p99.9 ULP', key: 'p999_ulp', numeric: true},
];
const view = {sort: null, descending: false, page: 0, pageSize: 100, open: new Set()};
const filters = ['text', 'case', 'mode', 'verdict', 'findings'].reduce((all, name) => ({...all, [name]: document.getElementById('filter-' + name)}), {});

// What needs a reviewer's eyes first, what was not run last.
const urgency = (r) => (isFinding(r) ? 0 : r.standing === 'skip' ? 2 : 1);
data.results.sort((x, y) => urgency(x) - urgency(y));
data.results.forEach((r, index) => {
  r.index = index;
  r.words = [r.variant, r.case, r.mode, r.effective_mode, r.verdict, r.reason, r.plan, r.declared_plan, r.engine, r.case_text].join(' ').toLowerCase();
});

function selected() {
  const words = filters.text.value.toLowerCase().split(/\s+/).filter(Boolean);
  const list = data.results.filter((r) => words.every((w) => r.words.includes(w)) && (!filters.case.value || r.case === filters.case.value) &&
    (!filters.mode.value || r.mode === filters.mode.value) && (!filters.verdict.value || r.verdict === filters.verdict.value) &&
    (!filters.findings.checked || isFinding(r)));
  if (view.sort) {
    const {key, numeric} = view.sort;
    const sign = view.descending ? -1 : 1;
    const missing = (r) => numeric && Number.isNaN(number(r[key]));
    list.sort((x, y) => {  // rows without a figure come last either way
      if (missing(x) || missing(y)) return missing(x) - missing(y) || x.index - y.index;
      const [a, b] = numeric ? [number(x[key]), number(y[key])] : [x[key] || '', y[key] || ''];
      return (a < b ? -sign : a > b ? sign : 0) || x.index - y.index;
    });
  }
  return list;
}

/** A name that may be broken behind its separators. */
const breakable = (name) => name.split(/(?<=[/_])/).flatMap((part, i) => (i ? [el('wbr'), part] : [part]));

function headroomCell(r) {
  const share = number(r.headroom);
  const cell = el('td', {class: 'number'}, figure(r.headroom));
  if (!Number.isNaN(share))
    cell.append(el('span', {class: 'meter', 'aria-hidden': 'true', 'data-verdict': share > 1 ? 'fail' : 'pass'},
      el('i', {style: 'width:' + Math.min(100, 100 * share) + '%'})));
  return cell;
}

function rowOf(r) {
  const id = 'details-' + r.index;
  const open = view.open.has(r.index);
  const button = el('button', {type: 'button', class: 'open', id: 'open-' + r.index, 'aria-expanded': String(open), 'aria-controls': open ? id : null, onclick: () => toggle(r)}, r.variant);
  return el('tr', {'data-index': r.index}, el('th', {scope: 'row'}, button), el('td', {class: 'case'}, breakable(r.case)),
    el('td', {}, r.mode, r.effective_mode && r.effective_mode !== r.mode ? el('small', {}, 'effective ' + r.effective_mode) : null),
    el('td', {}, badge(r.standing, r.standing === 'unverified' ? 'unverified' : r.verdict), r.executed === 'replay' ? ' (replay)' : '',
      isFinding(r) ? el('small', {class: 'reason'}, r.reason) : null),
    el('td', {class: 'number'}, figure(r.max_abs)), el('td', {class: 'number'}, figure(r.bound)), headroomCell(r),
    el('td', {class: 'number'}, figure(r.mean_abs)), el('td', {class: 'number'}, figure(r.p999_ulp)));
}

function showTable() {
  document.querySelectorAll('#results canvas').forEach(forget);
  const list = selected();
  const pages = Math.max(1, Math.ceil(list.length / view.pageSize));
  view.page = Math.min(view.page, pages - 1);
  const shown = list.slice(view.page * view.pageSize, (view.page + 1) * view.pageSize);
  const body = document.querySelector('#results tbody');
  body.replaceChildren(...shown.map(rowOf));
  if (!shown.length) body.append(el('tr', {}, el('td', {colspan: columns.length}, data.results.length ? 'No result fits these filters.' : 'This record holds no results.')));
  for (const r of shown) if (view.open.has(r.index)) openDetails(r);
  document.getElementById('shown').textContent = count(list.length) + ' of ' + count(data.results.length) + ' results';
  showPages(pages);
}

function showPages(pages) {
  const nav = document.getElementById('pages');
  nav.hidden = pages < 2;
  const step = (name, by) => el('button', {type: 'button', disabled: view.page + by < 0 || view.page + by >= pages, onclick: () => {
    view.page += by;
    showTable();
    document.getElementById('results-heading').focus();
  }}, name);
  nav.replaceChildren(step('Previous', -1), el('span', {}, 'Page ' + (view.page + 1) + ' of ' + pages), step('Next', 1));
}

function showHead() {
  const sortOf = (c) => (view.sort !== c ? 'none' : view.descending ? 'descending' : 'ascending');
  const head = document.querySelector('#results thead');
  head.replaceChildren(el('tr', {}, columns.map((c) => el('th', {scope: 'col', 'aria-sort': sortOf(c), class: c.numeric ? 'number' : null},
    el('button', {type: 'button', id: 'sort-' + c.key, onclick: () => {
      view.descending = view.sort === c ? !view.descending : Boolean(c.numeric);
      view.sort = c;
      view.page = 0;
      showHead();
      showTable();
      document.getElementById('sort-' + c.key).focus();
    }}, c.name)))));
}

function openDetails(r) {
  const row = document.querySelector('#results tr[data-index="' + r.index + '"]');
  if (!row) return;
  const inner = el('div', {class: 'inner'});  // as wide as the page shows, however wide the table is
  row.after(el('tr', {class: 'details', id: 'details-' + r.index}, el('td', {colspan: columns.length}, inner)));
  details(inner, r);
}

function toggle(r) {
  const button = document.getElementById('open-' + r.index);
  const old = document.getElementById('details-' + r.index);
  if (old) {
    old.querySelectorAll('canvas').forEach(forget);
    old.remove();
    view.open.delete(r.index);
    button.removeAttribute('aria-controls');
  } else {
    view.open.add(r.index);
    openDetails(r);
    button.setAttribute('aria-controls', 'details-' + r.index);
  }
  button.setAttribute('aria-expanded', String(!old));
}

/** Brings a result into view, whatever is filtered. */
function choose(r) {
  document.getElementById('filters').reset();
  view.page = Math.floor(selected().indexOf(r) / view.pageSize);
  view.open.add(r.index);
  showTable();
  const button = document.getElementById('open-' + r.index);
  button.focus();
  button.scrollIntoView({block: 'center'});
}

function startTable() {
  const option = (value, text) => el('option', {value}, text);
  for (const [name, key] of [['case', 'case'], ['mode', 'mode'], ['verdict', 'verdict']]) {
    const values = [...new Set(data.results.map((r) => r[key]))].sort();
    filters[name].append(option('', 'all'), ...values.map((v) => option(v, v)));
  }
  const refresh = () => { view.page = 0; showTable(); };
  const form = document.getElementById('filters');
  for (const event of ['input', 'change']) form.addEventListener(event, refresh);
  form.addEventListener('submit', (event) => event.preventDefault());
  document.getElementById('clear').addEventListener('click', () => { form.reset(); refresh(); });
  addEventListener('beforeprint', () => { view.pageSize = 1e9; showTable(); });
  addEventListener('afterprint', () => { view.pageSize = 100; showTable(); });
  if (data.results.filter(isFinding).length === 1) view.open.add(0);  // what alone fails needs no click to be seen
  showHead();
  showTable();
}
