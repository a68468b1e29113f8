/** Charts as SVG that read well on light and dark pages. */

const WIDTH = 800;
const HEIGHT = 360;
const LEFT = 70;
const RIGHT = 250;
const TOP = 56;
const BOTTOM = 48;
const BAR = 22;
const LABEL = 250;
/** Of a character of a label, about. */
const CHARACTER = 7.2;

/** Distinguishable without colour vision, on white and on near-black. */
const COLOURS = [
  '#1a7f64',
  '#d1495b',
  '#3b6fb6',
  '#b07d12',
  '#7d5ba6',
  '#4f8a8b',
  '#a05a2c',
  '#6b7280',
  '#c2570c',
  '#2f7d32',
];

const STYLE = `
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-size: 16px; font-weight: 600 }
.note { font-size: 12px; fill: #57606a }
.grid { stroke: #d0d7de; stroke-width: 1 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .note { fill: #9198a1 }
  .grid { stroke: #3d444d }
}`;

/**
 * Lines over two logarithmic axes.
 *
 * @param {{ title: string, x: string, y: string, note?: string, series: { name: string, points: [x: number, y: number][] }[] }} chart
 */
export function lineChart({ title, x, y, note = '', series }) {
  const drawn = series.filter(({ points }) => points.length > 0);
  const all = drawn.flatMap(({ points }) => points);
  const across = logScale(
    all.map(([value]) => value),
    LEFT,
    WIDTH - RIGHT,
  );
  const up = logScale(
    all.map(([, value]) => value),
    HEIGHT - BOTTOM,
    TOP,
  );
  const grid = [
    ...across.ticks.map((tick) => {
      const place = round(across.place(tick));
      return `${line(place, TOP, place, HEIGHT - BOTTOM)}${text(place, HEIGHT - BOTTOM + 18, short(tick), 'middle')}`;
    }),
    ...up.ticks.map((tick) => {
      const place = round(up.place(tick));
      return `${line(LEFT, place, WIDTH - RIGHT, place)}${text(LEFT - 8, place + 4, short(tick), 'end')}`;
    }),
  ];
  const ends = spread(drawn.map(({ points }) => up.place(points.at(-1)[1])));
  const lines = drawn.map(({ name, points }, i) => {
    const colour = COLOURS[i % COLOURS.length];
    const places = points.map(([a, b]) => [round(across.place(a)), round(up.place(b))]);
    const dots = places.map(([a, b]) => `<circle cx="${a}" cy="${b}" r="3.5" fill="${colour}"/>`);
    const path = `<polyline points="${places.map((place) => place.join(',')).join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>`;
    const label = `<text x="${WIDTH - RIGHT + 12}" y="${round(ends[i] + 4)}" style="fill:${colour}">${escape(name)}</text>`;
    return path + dots.join('') + label;
  });
  return svg(HEIGHT, title, [
    ...grid,
    ...lines,
    text(LEFT, TOP - 12, y, 'start', 'note'),
    text(WIDTH - RIGHT, HEIGHT - 8, note ? `${x} · ${note}` : x, 'end', 'note'),
  ]);
}

/**
 * Bars to the right, one a subject.
 *
 * @param {{ title: string, note: string, log?: boolean, bars: { name: string, value: number, text?: string }[] }} chart
 */
export function barChart({ title, note, log = false, bars }) {
  const height = TOP + bars.length * (BAR + 8) + 16;
  const from = LABEL + 10;
  const labels = bars.map(({ value, text: given }) => given ?? short(value));
  const room = WIDTH - from - 24 - CHARACTER * Math.max(...labels.map((label) => label.length));
  const values = bars.map(({ value }) => value);
  const most = Math.max(...values);
  const least = 10 ** Math.floor(Math.log10(Math.min(...values.filter((value) => value > 0))) - 0.3);
  const length = (value) => {
    if (value <= 0) return 0;
    return room * (log ? Math.log(value / least) / Math.log(most / least) : value / most);
  };
  const drawn = bars.map(({ name, value }, i) => {
    const top = TOP + i * (BAR + 8);
    const width = round(Math.max(1, length(value)));
    return (
      text(LABEL, top + BAR - 6, name, 'end') +
      `<rect x="${from}" y="${top}" width="${width}" height="${BAR}" rx="2" fill="${COLOURS[i === 0 ? 0 : 7]}"/>` +
      text(from + width + 8, top + BAR - 6, labels[i], 'start')
    );
  });
  return svg(height, title, [...drawn, text(24, TOP - 12, note, 'start', 'note')]);
}

function svg(height, title, parts) {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escape(title)}">`,
    `<style>${STYLE}\n</style>`,
    text(24, 24, title, 'start', 'title'),
    ...parts,
    '</svg>\n',
  ].join('\n');
}

function logScale(values, from, to) {
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
  const place = (value) => from + ((Math.log10(value) - low) / (high - low)) * (to - from);
  const ticks = Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i));
  return { place, ticks };
}

/** Labels at the ends of lines, moved apart where they would overlap. */
function spread(places) {
  const order = places.map((place, i) => ({ place, i })).sort((a, b) => a.place - b.place);
  let last = -Infinity;
  for (const one of order) {
    one.place = Math.max(one.place, last + 17);
    last = one.place;
  }
  const moved = [];
  for (const { place, i } of order) moved[i] = place;
  return moved;
}

function text(x, y, content, anchor, kind) {
  const named = kind ? ` class="${kind}"` : '';
  return `<text x="${x}" y="${y}" text-anchor="${anchor}"${named}>${escape(content)}</text>`;
}

const line = (x1, y1, x2, y2) => `<line class="grid" x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}"/>`;
const round = (value) => Math.round(value * 10) / 10;
const short = (value) =>
  value >= 1 ? Number(value.toPrecision(3)).toLocaleString('en-US') : String(Number(value.toPrecision(2)));
const escape = (value) =>
  value.replace(/[&<>"]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[sign]);
