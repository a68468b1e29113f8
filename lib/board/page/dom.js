/** Elements described as values, and a document brought in line with them: what did not change is not touched. */

const SVG = 'http://www.w3.org/2000/svg';
const shown = new WeakMap();

/** An element. `props.key` keeps it the same element when its place changes; text never becomes markup. */
export function h(tag, props, ...children) {
  return { tag, props: props ?? {}, children: flat(children) };
}

/** Makes `children` the content of `parent`. */
export function render(parent, ...children) {
  const focused = document.activeElement;
  const next = flat(children);
  update(parent, shown.get(parent) ?? [], next);
  shown.set(parent, next);
  // An element that was moved has lost the focus.
  if (focused !== document.activeElement && focused?.isConnected) focused.focus({ preventScroll: true });
}

function flat(children, into = []) {
  for (const child of children) {
    if (Array.isArray(child)) flat(child, into);
    else if (child !== undefined && child !== null && child !== false)
      into.push(typeof child === 'object' ? child : { text: String(child) });
  }
  return into;
}

function update(parent, before, after) {
  let same = 0;
  while (same < before.length && same < after.length && isSame(before[same], after[same])) {
    change(before[same], after[same]);
    same += 1;
  }
  if (same === before.length && same === after.length) return;
  replace(parent, before.slice(same), after.slice(same), same > 0 ? after[same - 1].dom : undefined);
}

/** Makes `after` of what are `before`, the children of `parent` that follow its child `last`. */
function replace(parent, before, after, last) {
  const old = new Map(before.map((node, index) => [idOf(node, index), node]));
  after.forEach((node, index) => {
    const id = idOf(node, index);
    const same = old.get(id);
    old.delete(id);
    if (same) change(same, node);
    else create(node, parent.namespaceURI === SVG);
  });
  for (const { dom } of old.values()) dom.remove();
  let place = last ? last.nextSibling : parent.firstChild;
  for (const { dom } of after) {
    if (dom === place) place = place.nextSibling;
    else parent.insertBefore(dom, place);
  }
}

function isSame(one, other) {
  return one.tag === other.tag && one.props?.key === other.props?.key;
}

function idOf({ tag, props }, index) {
  return props?.key === undefined ? `${index} ${tag}` : `${tag} ${props.key}`;
}

function create(node, inSvg) {
  if (node.tag === undefined) {
    node.dom = document.createTextNode(node.text);
    return;
  }
  const svg = inSvg || node.tag === 'svg';
  node.dom = svg ? document.createElementNS(SVG, node.tag) : document.createElement(node.tag);
  setProps(node.dom, {}, node.props);
  update(node.dom, [], node.children);
}

function change(old, node) {
  if (old === node) return;
  node.dom = old.dom;
  if (node.tag === undefined) {
    if (old.text !== node.text) node.dom.data = node.text;
    return;
  }
  setProps(node.dom, old.props, node.props);
  update(node.dom, old.children, node.children);
}

function setProps(dom, before, after) {
  for (const name of Object.keys(before)) if (!(name in after)) setProp(dom, name, undefined);
  for (const [name, value] of Object.entries(after)) {
    if (name.startsWith('--') || name.startsWith('on') || before[name] !== value) setProp(dom, name, value);
  }
}

/** `--x` is a custom property of the style: a style attribute would be rejected by the page's own policy. */
function setProp(dom, name, value) {
  if (name === 'key') return;
  if (name.startsWith('on')) dom[name] = value ?? null;
  else if (name.startsWith('--')) dom.style.setProperty(name, value ?? '');
  else if (value === undefined || value === false || value === null) dom.removeAttribute(name);
  else dom.setAttribute(name, value === true ? '' : value);
}
