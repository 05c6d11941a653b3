// What an automatic check can say of WCAG 2.1 A and AA for this page: names, labels, roles, headings, contrast.
// Returns a list of problems.
const problems = [];
const visible = (e) => e.checkVisibility() && e.getClientRects().length > 0;
const words = (e) => e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') + ' "' + e.textContent.trim().slice(0, 40) + '"';

if (!document.documentElement.lang) problems.push('no language');
if (!document.title.trim()) problems.push('no title');
if (document.querySelectorAll('main').length !== 1 || document.querySelectorAll('h1').length !== 1) problems.push('not one main and one h1');

const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
for (const id of ids.filter((x, i) => ids.indexOf(x) !== i)) problems.push('id twice: ' + id);
for (const attribute of ['aria-controls', 'aria-labelledby', 'for'])
  for (const e of document.querySelectorAll('[' + attribute + ']'))
    for (const id of e.getAttribute(attribute).split(' '))
      if (!document.getElementById(id)) problems.push(words(e) + ': ' + attribute + ' names ' + id + ', which is not there');

let level = 0;
for (const h of document.querySelectorAll('h1, h2, h3, h4')) {
  const own = Number(h.tagName[1]);
  if (own > level + 1) problems.push('heading skips a level: ' + words(h));
  level = own;
}
for (const e of document.querySelectorAll('input, select'))
  if (!e.labels?.length && !e.ariaLabel) problems.push('no label: ' + words(e));
for (const e of document.querySelectorAll('button, a'))
  if (!e.textContent.trim() && !e.ariaLabel) problems.push('no name: ' + words(e));
for (const e of document.querySelectorAll('canvas'))
  if (e.getAttribute('role') !== 'img' || !e.ariaLabel) problems.push('a chart has no role and label');
for (const e of document.querySelectorAll('th')) if (!e.scope) problems.push('a heading cell has no scope: ' + words(e));
for (const e of document.querySelectorAll('[tabindex]')) if (e.tabIndex > 0) problems.push('tab order is set by number: ' + words(e));
for (const e of document.querySelectorAll('body *'))  // what scrolls must be reached by keyboard
  if (visible(e) && e.scrollHeight > e.clientHeight + 2 && ['auto', 'scroll'].includes(getComputedStyle(e).overflowY) && e.tabIndex < 0)
    problems.push('scrolls, but not by keyboard: ' + words(e));

const channels = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
const luminance = ([r, g, b]) => {
  const [x, y, z] = [r, g, b].map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
};
function back(e) {
  for (; e; e = e.parentElement) {
    const c = channels(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] === 1) return c;
  }
  return [255, 255, 255];
}
const seen = new Set();
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node = walker.nextNode(); node; node = walker.nextNode()) {
  const e = node.parentElement;
  if (!node.data.trim() || ['SCRIPT', 'STYLE', 'NOSCRIPT'].includes(e.tagName) || !visible(e) || e.disabled) continue;
  const style = getComputedStyle(e);
  const [a, b] = [luminance(channels(style.color)), luminance(back(e))];
  const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
  const key = style.color + back(e);
  if (contrast < (large ? 3 : 4.5) && !seen.has(key)) {
    seen.add(key);
    problems.push('contrast ' + contrast.toFixed(2) + ': ' + words(e));
  }
}
return problems;
