import { readFileSync } from 'node:fs';

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');

test.each(['orders.service.ts', 'orders.service.spec.ts'])(
  'the testing page shows %s as it is run here',
  (name) => {
    const page = read('../../../docs/testing.md');
    expect(page).toContain(`\`\`\`ts\n// ${name}\n${read(`example/${name}`)}\`\`\`\n`);
  },
);
